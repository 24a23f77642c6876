from collections.abc import Callable
from typing import final

@final
class FirstForms:
    def __init__(self, find: Callable[[int], bytes | None]) -> None: ...
