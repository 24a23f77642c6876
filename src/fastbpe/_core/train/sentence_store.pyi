"""Normalized sentences in their order, for the training of unigram models."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class SentenceStore:
    """Normalized sentences in their order, with their counts."""

    def __new__(
        cls,
        *,
        split_by_whitespace: bool = True,
        treat_whitespace_as_suffix: bool = False,
        allow_whitespace_only_pieces: bool = False,
    ) -> Self: ...
    @property
    def n(self) -> int:
        """Number of sentences."""

    def append(self, text: bytes, count: int) -> None:
        """Add a sentence that occurs `count` times."""

    def drop_empty(self) -> None:
        """Drop empty sentences; the last sentence takes the place of each."""

    def words(self) -> PieceTable:
        """Count the words."""

    def characters(self) -> dict[int, int]:
        """Count the characters, by code point; NUL is left out."""

    def replace_others(self, known: list[int]) -> None:
        """Put U+2585 in place of all characters but these code points."""

    def units(self, first: int, max_bytes: int) -> tuple[PieceTable, int]:
        """Count the units of a chunk."""

    def sentences(self) -> list[tuple[bytes, int]]:
        """List (sentence, count)."""
