"""Normalized sentences in their order, for the training of unigram models."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class KnownCharacters:
    """Characters of the alphabet; U+2585 stands for the others.

    known: their code points.
    """

    def __new__(cls, known: list[int]) -> Self: ...

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

    @property
    def n_empty(self) -> int:
        """Number of empty sentences among them."""

    def append(self, text: bytes, count: int) -> None:
        """Add a sentence that occurs `count` times."""

    def extend(self, other: SentenceStore) -> None:
        """Add the sentences of another store behind these."""

    def sentence(self, i: int) -> bytes:
        """Return sentence i."""

    def clear(self) -> None:
        """Drop all sentences."""

    def drop_empty(self) -> None:
        """Drop empty sentences; the last sentence takes the place of each."""

    def last_word(self) -> bytes:
        """Return the last word of the last sentence; b"": there is no sentence."""

    def words(self) -> PieceTable:
        """Count the words."""

    def characters(self) -> dict[int, int]:
        """Count the characters, by code point; NUL is left out."""

    def replace_others(self, known: list[int]) -> None:
        """Put U+2585 in place of all characters but these code points."""

    def units(self, first: int, max_bytes: int) -> tuple[PieceTable, int]:
        """Count the units of a chunk."""

def sorted_words(words: PieceTable) -> SentenceStore:
    """Return words as sentences of a SentenceStore: the most frequent first, then by their bytes."""
