from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import disjoint_base

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.train.merge_learner import MergeLearner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.token_limits import TokenLimits

@disjoint_base
class Learner(MergeLearner):
    def __init__(
        self,
        source: PieceCounter | Sequences,
        *,
        max_ids: int,
        ties_first: bool = False,
        min_count: int = 1,
        max_token_length: int | None = None,
        base_ranks: Sequence[int] | None = None,
        base: Vocabulary | SequenceVocabulary | None = None,
        n_base: int = 256,
        taken: Iterable[bytes] = (),
        names: Sequence[bytes] | None = None,
        known: Mapping[bytes, int] | None = None,
        prefix: bytes = b"",
        limits: TokenLimits | None = None,
        more_symbols: int = 0,
        ties_bytes: bool = False,
        overlaps: bool = True,
        shares: Sequence[int] = (),
        stops_at_known: bool = False,
    ) -> None: ...
    def sequences(self, left: int, right: int, merged: int) -> Sequences: ...
    def limits_met(self) -> tuple[bool, bool]: ...
    @property
    def known_pair(self) -> tuple[int, int, int] | None: ...
    @property
    def n_pieces(self) -> int: ...
