from collections.abc import Callable
from typing import final

from typing_extensions import Self

from fastbpe._core.counter import PieceCounter
from fastbpe._core.normalizer import Normalizer
from fastbpe._core.pieces import PieceTable
from fastbpe._core.special import SpecialMatcher

@final
class WordCounter:
    def __new__(
        cls,
        normalizer: Normalizer,
        classes: bytes,
        *,
        symbols: SpecialMatcher | None = None,
        delimiter: bytes = b"",
        max_bytes: int = 4192,
        splits: bool = True,
        suffix: bool = False,
        runs: bool = False,
        has_counts: bool = False,
        is_checked: bool = False,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
    ) -> Self: ...
    @property
    def words(self) -> PieceCounter: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_sentences(self) -> int: ...
    @property
    def n_empty(self) -> int: ...
    @property
    def n_too_long(self) -> int: ...
    @property
    def n_reserved(self) -> int: ...
    def abandon(self) -> None: ...
    def add_lines(self, texts: list[str | bytes], *, first: int = 0) -> None: ...
    def add_sentences(self, texts: list[str | bytes], *, first: int = 0) -> None: ...
    def add_part(self, text: str | bytes, start: int, end: int, *, first: int = 0) -> None: ...

def characters(words: PieceTable) -> dict[int, int]: ...
