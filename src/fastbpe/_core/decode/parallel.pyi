from typing import final

@final
class Decoding: ...
