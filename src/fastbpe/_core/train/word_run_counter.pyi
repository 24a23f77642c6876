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

def cut_runs(runs: PieceTable, out: PieceTable, neighbours: NeighbourCounts, least: int) -> None: ...
