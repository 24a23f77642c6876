from typing import Any, final

from typing_extensions import disjoint_base

@disjoint_base
class Splitter:
    def ends(self, text: str | bytes) -> list[int]: ...
    def count(self, text: str | bytes) -> int: ...

@final
class RegexSplitter(Splitter):
    def __init__(self, pattern: Any) -> None: ...
