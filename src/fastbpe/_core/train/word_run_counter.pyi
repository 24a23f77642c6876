from collections.abc import Callable
from typing import final

from typing_extensions import Self

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.superword_counter import NeighbourCounts

@final
class WordRunCounter(PieceCounter):
    """Counter of neighbours or of runs of whole words.

    splitter: Splitter – cuts the texts into pieces. It has no safe cuts, since runs go on across them.
    words: Vocabulary – the tokens of words.
    members: bytes – by id: 1 if a run may have this token.
    neighbours: NeighbourCounts – shared by all counters of a source; None: count runs without cutting any.
    least: int – 0: count neighbours, and no runs. Else count the runs of two ids or more whose neighbours all
        have at least this count.
    spill, limit: as for PieceTable.
    """

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
    @property
    def neighbours(self) -> NeighbourCounts | None: ...

def cut_runs(runs: PieceTable, out: PieceTable, neighbours: NeighbourCounts, least: int) -> None:
    """Cut runs that were counted whole between neighbours that occur less often than `least`.

    runs: PieceTable – what WordRunCounter counted without neighbours.
    out: PieceTable – gets the parts of two ids or more, with their counts.
    neighbours: NeighbourCounts – all 0; gets the counts of the neighbours in the runs.
    """
