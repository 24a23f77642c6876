"""Expectation maximization of unigram models in double precision, as in tokenizers."""

from array import array
from typing import final

from typing_extensions import Self

from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe.model import Buffer

@final
class DoubleUnigramLearner:
    def __new__(cls, pieces: list[bytes], scores: array[float], words: SentenceStore) -> Self: ...
    @property
    def n_pieces(self) -> int:
        """Number of remaining pieces, with the first one, which stands for unknown characters."""

    @property
    def lowest(self) -> float:
        """Lowest score of a piece."""

    def abandon(self) -> None: ...
    def expect(self, first: int, end: int) -> array[float]:
        """Return how often each piece is expected in the words from `first` to `end`."""

    def count_best(self, first: int, end: int) -> array[float]: ...
    def maximize(self, expected: array[float]) -> None:
        """Set the scores that explain the counts best; drop pieces that are expected less than 0.5 times."""

    def alternatives(self, first: int, end: int) -> tuple[Buffer, array[int]]:
        """Return the pieces that each of some pieces would become without it, end to end, and their numbers."""

    def prune(
        self,
        counts: array[float],
        alternatives: list[tuple[Buffer, array[int]]],
        *,
        n_least: int,
        shrinking_factor: float,
    ) -> None: ...
    def pieces(self) -> list[tuple[bytes, float]]: ...

def add_doubles(total: array[float], part: array[float]) -> None: ...
