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
    """Learner of merges over counted pieces, or over sequences of integers.

    source: PieceCounter, which must not change while the learner lives; or Sequences, which are emptied, each a
        piece of its own.
    max_ids: int – number of ids to end with; if there are as many before the first merge, nothing is learned.
    ties_first: bool – of pairs with equal counts, merge the one that occurs first in the pieces; False: the one
        whose left id, then right id, ranks lower.
    min_count: int – merge only pairs that occur at least so often.
    max_token_length: int or None – make no token of more bytes, or integers.
    base_ranks: sequence of 256 int, or None – ranks of the single bytes for ties; None: by value.
    base: Vocabulary, for Sequences SequenceVocabulary, or None – pieces are made of the tokens of this vocabulary,
        as it encodes them, instead of bytes or integers.
    n_base: int – the first id that a merge may have, above all ids of `base`.
    taken: bytes – names that text always becomes, before any merges: with a base of bytes, no merge makes one.
    names: list of bytes, or None – with Sequences, the token of each id below n_base. Then a merge may make
        a token of `known`.
    known: bytes → id – tokens that are no symbols of the source. A merge that makes one takes the rank of its id,
        and does not count among the ids to end with. Like any other, it makes the next id.
    prefix: bytes – what the right one of two tokens loses when they are joined.
    limits: TokenLimits, or None – with Sequences, the token of each id below n_base, and which may be joined. A
        pair that would make the bytes of a token is then passed over.
    more_symbols: int – symbols of other sources whose merges share the ids.
    ties_bytes: bool – with limits: of pairs with equal counts, merge the one whose left token is less as bytes; of
        equal ones, whose right token is.
    overlaps: bool – count n - 1 pairs in a run of n equal symbols; False: n // 2, as many as merging makes of it.
    shares: sequence of int – counts of other merges, falling, that make ids up to max_ids, too, and go before
        merges of an equal count. Learning ends when there is no more need of merges.
    stops_at_known: bool – a pair that would make the bytes of a token ends learning: see known_pair.
    """

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
    def sequences(self, left: int, right: int, merged: int) -> Sequences:
        """Return the pieces as they are after the merges, with another pair replaced by an id.

        left, right: int – the pair, which becomes `merged` from left to right.
        """
    def limits_met(self) -> tuple[bool, bool]:
        """Return two bools: whether min_count, and whether max_token_length, kept a pair of the text from being
        merged.

        A pair that both limits exclude counts only if no pair is excluded by one alone; then both are True.
        """

    @property
    def known_pair(self) -> tuple[int, int, int] | None:
        """(left id, right id, count) of the pair that ended learning, since it makes a token; None: none did."""

    @property
    def n_pieces(self) -> int:
        """Number of pieces in the text: the sum of the counts."""
