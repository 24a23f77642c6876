"""Removal of tokens from tokenizers: of named tokens, or of the tokens that a corpus uses least.

`ByteRemoval` and `PieceRemoval` find the dependent tokens and build the model; here are the rules that they share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from fastbpe._utils.arguments import integer
from fastbpe.corpus.corpora import Corpus
from fastbpe.corpus.source_kinds import Cut
from fastbpe.errors import VocabularyError
from fastbpe.vocabularies.changes import Change, RemovalReport
from fastbpe.vocabularies.id_map import NONE, IdMap
from fastbpe.vocabularies.makers import Makers, choose, with_makers

ModelT = TypeVar("ModelT", covariant=True)
TokenizerT = TypeVar("TokenizerT")
Tokens = Iterable[int | str | bytes]


class Removal(Protocol[ModelT]):
    """Removal of tokens from one vocabulary.

    makers: the makers of each token that merging makes.
    ranked: ids of all tokens, the best priority first.
    n_vocab: one more than the greatest id.
    has_gaps: whether the vocabulary may have ids without a token.
    kept: id → reason why it can never be removed.
    special: ids of special and added tokens, which `prune` keeps.
    """

    makers: Makers
    n_vocab: int
    has_gaps: bool

    @property
    def ranked(self) -> Sequence[int]: ...
    @property
    def kept(self) -> Mapping[int, str]: ...
    @property
    def special(self) -> Collection[int]: ...
    def without(
        self, drop: Collection[int], renumber: Callable[[Collection[int]], Mapping[int, int]]
    ) -> tuple[ModelT, list[int], dict[int, tuple[int, int]]]: ...
    def find(self, token: int | str | bytes) -> int | None: ...


class Remover(Generic[TokenizerT]):
    """Creates tokenizers without some tokens. make: function that creates a tokenizer from a model."""

    def __init__(self, removal: Removal[Any], make: Callable[[Any], TokenizerT]) -> None:
        self._removal = removal
        self._make = make

    def without_tokens(self, tokens: Tokens, keep_ids: bool) -> Change[TokenizerT, RemovalReport]:
        """Remove tokens by id, text or bytes. See `Tokenizer.without_tokens`."""
        if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
            raise TypeError(f"tokens must be a list of ids, texts or bytes, not {type(tokens).__name__}")
        kept = self._removal.kept
        drop = set()
        for token in tokens:
            token_id = self._removal.find(token)
            if token_id is None:
                raise VocabularyError(f"{token!r} is not a token of this vocabulary, so it cannot be removed")
            if token_id in kept:
                named = f"token {token_id} ({token!r})" if isinstance(token, (str, bytes)) else f"token {token_id}"
                raise VocabularyError(f"{named} cannot be removed: it is {kept[token_id]}")
            drop.add(token_id)
        return self._without(drop, keep_ids)

    def prune(
        self, keep: int | None, counts: Mapping[int, int] | None, min_count: int | None, keep_ids: bool
    ) -> Change[TokenizerT, RemovalReport]:
        """Keep some tokens and their makers. See `Tokenizer.prune`.

        counts: number of times that a corpus uses each id; None: there is no corpus.
        """
        removal = self._removal
        ranked = removal.ranked
        always = with_makers((*removal.kept, *removal.special), removal.makers)
        if keep is not None:
            if not len(always) <= keep <= len(ranked):
                raise ValueError(
                    f"keep={keep}: must be at least {len(always)}, the tokens that always stay (such as single "
                    f"bytes or characters, and special tokens), and at most {len(ranked)}, all tokens"
                )
            if counts is not None:
                ranked = sorted(ranked, key=lambda i: -counts.get(i, 0))
            chosen = choose(keep, ranked, removal.makers, always)
        else:
            assert counts is not None
            assert min_count is not None
            used = [i for i in ranked if counts.get(i, 0) >= min_count]
            chosen = with_makers([*always, *used], removal.makers)
        # For the report: tokens of the corpus, and the makers that stay only because of them.
        least, times = min_count or 1, counts or {}
        needed = with_makers([i for i in chosen if times.get(i, 0) >= least], removal.makers)
        makers = [i for i in needed if i not in always and times.get(i, 0) < least]
        return self._without({i for i in ranked if i not in chosen}, keep_ids, makers)

    def _without(
        self, drop: Collection[int], keep_ids: bool, makers: Iterable[int] = ()
    ) -> Change[TokenizerT, RemovalReport]:
        removal = self._removal
        if keep_ids and not removal.has_gaps:
            raise VocabularyError(
                "keep_ids=True would leave ids without a token, which a code-point vocabulary cannot have; leave "
                "it out, and find the new ids in the IdMap of the result"
            )
        staying = sorted(removal.ranked)

        def renumber(gone: Collection[int]) -> dict[int, int]:
            left = [i for i in staying if i not in gone]
            return dict(zip(left, left if keep_ids else range(len(left)), strict=False))

        model, lost, made = removal.without(drop, renumber)
        new_ids = renumber({*drop, *lost})
        tokenizer = self._make(model)
        n_new = max(new_ids.values()) + 1
        new_to_old = [NONE] * n_new
        if keep_ids:  # an id that had no token before keeps its embedding row
            ids = {*staying}
            new_to_old = [NONE if i in ids else i for i in range(n_new)]
        for old, new in new_ids.items():
            new_to_old[new] = old
        new_ids[NONE] = NONE  # a maker may be a character that is not a piece: see `token_makers.NO_ID`
        remade = {
            new_ids[i]: (new_ids[left], new_ids[right])
            for i, (left, right) in made.items()
            if i in new_ids and removal.makers.get(i) != (left, right)
        }
        report = RemovalReport(tuple(sorted(drop)), tuple(sorted(lost)), remade, tuple(sorted(makers)))
        return Change(tokenizer, IdMap(removal.n_vocab, new_to_old), report)


def check_prune(keep: object, corpus: object, min_count: object) -> tuple[int | None, int | None]:
    """Check arguments of prune without the vocabulary; return (keep, None) or (None, min_count, by default 1).

    Raises ValueError if they do not fit together or min_count is less than 1, TypeError if one is no integer.
    """
    if keep is None and corpus is None:
        raise ValueError("prune needs keep= (a number of tokens) or corpus= (keep the tokens that occur in it)")
    if min_count is not None and corpus is None:
        raise ValueError(f"min_count={min_count!r} counts tokens in a corpus: pass corpus=, too")
    if min_count is not None and keep is not None:
        raise ValueError("keep and min_count both say which tokens stay: pass one of them")
    if keep is not None:
        return integer("keep", keep), None
    least = 1 if min_count is None else integer("min_count", min_count)
    if least < 1:
        raise ValueError(f"min_count={least}: must be at least 1")
    return None, least


def count_ids(
    corpus: Corpus, encode_batch: Callable[[Sequence[Any]], Iterable[Iterable[int]]], cut: Cut | None
) -> Counter[int]:
    """Count the ids of a corpus; ValueError if it contains none. cut: finds safe cuts of long documents."""
    counts: Counter[int] = Counter()
    for batch in corpus.batches(cut):
        for ids in encode_batch(batch):
            counts.update(ids)
    if not counts:
        raise ValueError("the corpus contains no tokens to count: pass other texts, or keep= without corpus=")
    return counts
