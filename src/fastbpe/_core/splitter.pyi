from typing import Any, final

from typing_extensions import disjoint_base

@disjoint_base
class Splitter:
    def ends(self, text: str | bytes) -> list[int]: ...
    def pieces(self, text: str | bytes) -> list[tuple[int, int]]: ...

@final
class RegexSplitter(Splitter):
    def __init__(self, pattern: Any, *, keep_gaps: bool = True) -> None: ...
