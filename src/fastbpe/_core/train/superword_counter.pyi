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
    """Counts of neighbours among ids, none too low; shared by several threads.

    n_ids: number of ids.
    n_bytes: bytes of text that will be counted, about; the counts take half of that, 256 MB at most.
    """

    def __new__(cls, n_ids: int, n_bytes: int) -> Self: ...
    @property
    def n_ids(self) -> int: ...
    def nth_largest(self, n: int) -> int:
        """Return the n-th largest count, 1 at least and MAX_RANKED at most."""

    def ids(self) -> list[int]:
        """List the ids that the text has."""

@final
class SuperwordCounter(PieceCounter):
    """Counter of neighbours or of runs of ids.

    splitter: Splitter – cuts the texts into the pieces of the second phase.
    phases: TwoPhases – with the tokens of the first phase. Its joins are not used.
    neighbours: NeighbourCounts – shared by all counters of a source.
    least: int – 0: count neighbours, and no runs. Else count the runs of two ids or more whose neighbours all
        have at least this count.
    spill, limit: as for PieceTable.
    """

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

def sequences_of(table: PieceTable, n_ids: int) -> Sequences:
    """Make Sequences of runs that SuperwordCounter counted, with their counts.

    n_ids: int – one more than the greatest id.
    """
