from typing import final

from fastbpe._core.train.merge_learner import MergeLearner
from fastbpe._core.train.piece_table import PieceTable

@final
class CodePointLearner(MergeLearner):
    def __init__(
        self,
        words: PieceTable,
        alphabet: list[int],
        classes: bytes,
        *,
        n_merges: int,
        max_length: int,
        split_by_whitespace: bool,
        treat_whitespace_as_suffix: bool,
        allow_whitespace_only_pieces: bool,
        base: list[list[int]],
        cuts: bytes,
    ) -> None: ...
    def last_pairs(self) -> list[tuple[int, int]]: ...
