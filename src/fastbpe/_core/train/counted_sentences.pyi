"""Words of sentences with their counts, for the training of unigram models."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class CountedSentences:
    def __new__(cls, words: PieceTable, last_word: bytes, known: list[int]) -> Self: ...
    @property
    def n(self) -> int: ...
    @property
    def n_bytes(self) -> int:
        """Bytes of all sentences, each with one more byte at its end; 2**63 - 1 if they are more."""

    def words(self) -> PieceTable: ...
    def characters(self) -> dict[int, int]: ...
    def units(self, first: int, max_bytes: int) -> tuple[PieceTable, int]:
        """Count the units: one chunk."""
