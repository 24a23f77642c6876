from collections.abc import Callable
from typing import final

from typing_extensions import Self

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.run_counter import NeighbourCounts, RunCounter

@final
class SuperwordCounter(RunCounter):
    def __new__(
        cls,
        splitter: Splitter,
        *,
        phases: TwoPhases,
        neighbours: NeighbourCounts | None = None,
        least: int = 1,
        by_pairs: bool = False,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
    ) -> Self: ...
    @property
    def phases(self) -> TwoPhases: ...

@final
class WordRunCounter(RunCounter):
    def __new__(
        cls,
        splitter: Splitter,
        *,
        words: Vocabulary,
        members: bytes,
        neighbours: NeighbourCounts | None = None,
        least: int = 1,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
    ) -> Self: ...
    @property
    def words(self) -> Vocabulary: ...
