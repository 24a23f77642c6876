"""Pieces with which the training of a unigram model begins."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class SeedFinder:
    """Finder of strings that occur in different surroundings."""

    def __new__(
        cls,
        classes: bytes,
        *,
        max_length: int,
        n_kept: int,
        split_by_whitespace: bool = True,
        treat_whitespace_as_suffix: bool = False,
        allow_whitespace_only_pieces: bool = False,
    ) -> Self: ...
    def abandon(self) -> None:
        """Make threads that search stop soon, with an error."""

    def begin(self, units: PieceTable, n_parts: int) -> list[tuple[int, int]]:
        """Begin with a chunk of text.

        Returns the parts that `search` is to be called for, about n_parts, as (first, end): numbers of the two
        bytes that suffixes begin with.
        """

    def search(self, first: int, end: int) -> PieceTable:
        """Count the strings of one part. Several threads may do so at once."""

    def end(self, found: list[PieceTable]) -> None:
        """End a chunk with the tables of its parts."""

    def best(self) -> tuple[list[bytes], list[float]]:
        """Return the pieces and their scores, best first."""

    def is_valid(self, piece: str) -> bool:
        """Tell whether training may make a piece."""
