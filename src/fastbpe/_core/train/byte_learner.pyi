from collections.abc import Sequence
from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.train.merge_learner import MergeLearner
from fastbpe._core.train.piece_counter import PieceCounter

@final
class Learner(MergeLearner):
    def __init__(
        self,
        counter: PieceCounter,
        *,
        max_ids: int,
        ties_first: bool = False,
        min_count: int = 1,
        max_token_bytes: int | None = None,
        base_ranks: Sequence[int] | None = None,
        base: Vocabulary | None = None,
        n_base: int = 256,
    ) -> None: ...
    def limits_met(self) -> tuple[bool, bool]: ...
    @property
    def n_pieces(self) -> int: ...
