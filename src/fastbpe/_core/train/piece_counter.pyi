from collections.abc import Callable

from typing_extensions import Self, disjoint_base

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.separated_texts import SeparatedTexts
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_table import PieceTable

@disjoint_base
class PieceCounter(PieceTable):
    def __new__(
        cls, splitter: Splitter, *, spill: Callable[[PieceTable], object] | None = None, limit: int = 0
    ) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
    def add_text(self, text: str | bytes, special: SpecialMatcher | None = None) -> int: ...
    def add_batch(
        self,
        texts: list[str | bytes],
        special: SpecialMatcher | None = None,
        *,
        number: int | None = None,
        first: int | None = None,
    ) -> None: ...
    def add_separated(
        self, texts: SeparatedTexts, special: SpecialMatcher | None = None, *, number: int
    ) -> None: ...
    def add_part(
        self, text: str | bytes, start: int, end: int, special: SpecialMatcher | None = None, *, number: int
    ) -> None: ...

def parts(text: str | bytes, size: int, what: str = "text") -> list[tuple[int, int]]: ...
