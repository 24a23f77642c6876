from collections.abc import Callable
from typing import final

from typing_extensions import Self, disjoint_base

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_table import PieceTable

@final
class NeighbourCounts:
    """Counts of neighbours among ids, none too low; shared by several threads.

    n_ids: number of ids.
    n_bytes: bytes of text that will be counted, about; the counts take half of that, 256 MB at most.

    Attributes:
        weight: int – how often each pair counts from now on. At first 1.
    """

    weight: int
    def __new__(cls, n_ids: int, n_bytes: int) -> Self: ...
    @property
    def n_ids(self) -> int: ...
    def nth_largest(self, n: int) -> int:
        """Return the n-th largest count, 1 at least and MAX_RANKED at most."""

    def ids(self) -> list[int]:
        """List the ids that the text has."""

@disjoint_base
class RunCounter(PieceCounter):
    """Counter of neighbours or of runs of ids. A subclass says which ids of a text stand side by side.

    splitter: Splitter – cuts the texts into pieces.
    neighbours: NeighbourCounts – shared by all counters of a source; None: count runs without cutting any.
    least: int – 0: count neighbours, and no runs. Else count the runs of two ids or more whose neighbours all
        have at least this count.
    spill, limit: as for PieceTable.
    """

    def __new__(
        cls,
        splitter: Splitter,
        *,
        neighbours: NeighbourCounts | None = None,
        least: int = 1,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
        **kwargs: object,
    ) -> Self: ...
    @property
    def neighbours(self) -> NeighbourCounts | None: ...

def sequences_of(table: PieceTable, n_ids: int) -> Sequences:
    """Make Sequences of runs that a RunCounter counted, with their counts.

    n_ids: int – one more than the greatest id.
    """

def cut_runs(runs: PieceTable, out: PieceTable, neighbours: NeighbourCounts, least: int) -> None:
    """Cut runs that were counted whole between neighbours that occur less often than `least`.

    runs: PieceTable – what a RunCounter counted without neighbours.
    out: PieceTable – gets the parts of two ids or more, with their counts.
    neighbours: NeighbourCounts – all 0; gets the counts of the neighbours in the runs.
    """
