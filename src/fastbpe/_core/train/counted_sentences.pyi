"""Words of sentences with their counts, for the training of unigram models."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class CountedSentences:
    """Words of sentences with their counts.

    words: PieceTable – as `WordCounter` counts them with marks_ends. It must not change.
    last_word: bytes – of the last sentence; b"", or what is not among the words: none is known.
    known: list of int – code points of the alphabet, U+2581 among them; U+2585 stands for the others.
    """

    def __new__(cls, words: PieceTable, last_word: bytes, known: list[int]) -> Self: ...
    @property
    def n(self) -> int:
        """Number of chunks."""

    @property
    def n_bytes(self) -> int:
        """Bytes of all sentences, each with one more byte at its end; 2**63 - 1 if they are more."""

    def words(self) -> PieceTable:
        """Count the words, wherever they stand."""

    def characters(self) -> dict[int, int]:
        """Count the characters of the alphabet, by code point."""

    def units(self, first: int, max_bytes: int) -> tuple[PieceTable, int]:
        """Count the units: one chunk."""
