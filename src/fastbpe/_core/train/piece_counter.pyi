from collections.abc import Callable

from typing_extensions import Self, disjoint_base

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.separated_texts import SeparatedTexts
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_table import PieceTable

@disjoint_base
class PieceCounter(PieceTable):
    """Pieces of texts and their counts, in order of first appearance. One thread at a time may use it.

    splitter: Splitter – cuts the texts into pieces.
    spill, limit: as for PieceTable.
    """

    def __new__(
        cls, splitter: Splitter, *, spill: Callable[[PieceTable], object] | None = None, limit: int = 0
    ) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
    def add_text(self, text: str | bytes, special: SpecialMatcher | None = None) -> int:
        """Count the pieces of one text and return its length in bytes of UTF-8.

        special: SpecialMatcher or None – its tokens cut the text and are not counted.
        """

    def add_batch(
        self,
        texts: list[str | bytes],
        special: SpecialMatcher | None = None,
        *,
        number: int | None = None,
        first: int | None = None,
    ) -> None:
        """Count the pieces of a batch of texts.

        special: SpecialMatcher or None – its tokens cut the texts and are not counted.
        number: int or None – number of the batch, if several counters share the batches of one source; it orders
            the pieces of all counters.
        first: int or None – number of the first text in its source, for errors.
        """

    def add_separated(self, texts: SeparatedTexts, special: SpecialMatcher | None = None, *, number: int) -> None:
        """Count the pieces of the texts between separators, as a batch of its own."""

    def add_part(
        self, text: str | bytes, start: int, end: int, special: SpecialMatcher | None = None, *, number: int
    ) -> None:
        """Count the pieces of one part of a text, as a batch of its own.

        start, end: int – the part, in units of the text (bytes, or characters of a str).
        number: int – number of the batch.
        """

def parts(text: str | bytes, size: int, what: str = "text") -> list[tuple[int, int]]:
    """Divide a long text at safe cuts and return (start, end) of each part, in units of the text.

    text: str or bytes – bytes must be UTF-8, which is checked.
    size: int – units of a part, about.
    what: str – name of the text in errors.
    """
