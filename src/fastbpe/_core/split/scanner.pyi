from collections.abc import Iterable
from typing import Literal, final

from typing_extensions import Self

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.split.splitter import Splitter

def paths() -> list[str]: ...

@final
class Scanner(Splitter):
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
    @property
    def path(self) -> str: ...

@final
class WordScanner(Splitter):
    def __init__(self, code_points: CodePoints, *, path: str | None = None) -> None: ...
    @property
    def path(self) -> str: ...

@final
class RunScanner(Splitter):
    def __new__(
        cls,
        sets: list[tuple[Iterable[tuple[int, int]], bool]],
        *,
        keep_gaps: bool = True,
        path: str | None = None,
    ) -> Self: ...
    @property
    def path(self) -> str: ...
