from typing import final

@final
class Rules: ...
