from typing import Any, final

from typing_extensions import disjoint_base

@disjoint_base
class Splitter:
    def ends(self, text: str | bytes) -> list[int]: ...

@final
class RegexSplitter(Splitter):
    def __init__(self, pattern: Any) -> None: ...
