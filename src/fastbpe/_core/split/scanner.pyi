from collections.abc import Iterable
from typing import Literal, final

from typing_extensions import Self, disjoint_base

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.split.splitter import Splitter

def paths() -> list[str]: ...

@disjoint_base
class VectorScanner(Splitter):
    @property
    def path(self) -> str: ...

@final
class Scanner(VectorScanner):
    def __init__(
        self,
        family: Literal["gpt2", "cl100k", "o200k", "deepseek"],
        *,
        n_digits: int,
        contractions: bool = True,
        end_is_one_piece: bool = False,
        path: str | None = None,
    ) -> None: ...
    @property
    def family(self) -> str: ...

@final
class WordScanner(VectorScanner):
    def __init__(self, code_points: CodePoints, *, path: str | None = None) -> None: ...

@final
class RunScanner(VectorScanner):
    def __new__(
        cls,
        sets: list[tuple[Iterable[tuple[int, int]], bool]],
        *,
        keep_gaps: bool = True,
        path: str | None = None,
    ) -> Self: ...
