from collections.abc import Callable
from typing import final

from typing_extensions import Self, disjoint_base

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_table import PieceTable

@final
class NeighbourCounts:
    weight: int
    def __new__(cls, n_ids: int, n_bytes: int) -> Self: ...
    @property
    def n_ids(self) -> int: ...
    def nth_largest(self, n: int) -> int: ...
    def ids(self) -> list[int]: ...

@disjoint_base
class RunCounter(PieceCounter):
    def __new__(
        cls,
        splitter: Splitter,
        *,
        neighbours: NeighbourCounts | None = None,
        least: int = 1,
        by_pairs: bool = False,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
        **kwargs: object,
    ) -> Self: ...
    @property
    def neighbours(self) -> NeighbourCounts | None: ...

def sequences_of(table: PieceTable, n_ids: int) -> Sequences: ...
def cut_runs(runs: PieceTable, out: PieceTable, neighbours: NeighbourCounts, least: int) -> None: ...
