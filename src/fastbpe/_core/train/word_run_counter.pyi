from collections.abc import Callable
from typing import final

from typing_extensions import Self

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.run_counter import NeighbourCounts, RunCounter

@final
class WordRunCounter(RunCounter):
    """Counter of neighbours or of runs of whole words.

    words: Vocabulary – the tokens of words.
    members: bytes – by id: 1 if a run may have this token.
    The other arguments are those of RunCounter. The splitter has no safe cuts, since runs go on across them.
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
