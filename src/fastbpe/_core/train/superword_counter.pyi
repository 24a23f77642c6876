from collections.abc import Callable
from typing import final

from typing_extensions import Self

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_table import PieceTable

@final
class NeighbourCounts:
    def __new__(cls, n_ids: int, n_bytes: int) -> Self: ...
    @property
    def n_ids(self) -> int: ...
    def nth_largest(self, n: int) -> int: ...
    def ids(self) -> list[int]: ...

@final
class SuperwordCounter(PieceCounter):
    def __new__(
        cls,
        splitter: Splitter,
        *,
        phases: TwoPhases,
        neighbours: NeighbourCounts,
        least: int,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
    ) -> Self: ...
    @property
    def phases(self) -> TwoPhases: ...
    @property
    def neighbours(self) -> NeighbourCounts: ...

def sequences_of(table: PieceTable, n_ids: int) -> Sequences: ...
