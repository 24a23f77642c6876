"""The two phases of merging with superwords; `_core.cache.two_phases` explains them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from fastbpe._core.cache.two_phases import TwoPhases, superword_ids
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import VocabularyError
from fastbpe.model import Buffer, Model, Supermerges, pack_merges

_LEAST_SHARE = 8  # the first phase has at least 1/8 of the merges; with fewer it saves nothing

Merge = tuple[int, int, int]  # left id, right id, merged id


def phases_of(vocabulary: Vocabulary, model: Model) -> TwoPhases | None:
    """Find the two phases of a byte-level vocabulary.

    None if there are no superwords, few merges come before the first superword, or a whole piece may become a
    token that merging does not make. Also None if some token can be made in several ways, or an early merge joins
    a token that a later merge makes.
    """
    if model.supermerges is not None:
        return _of_whole_words(vocabulary, model, model.supermerges)
    if model.spelling is not None or not (spanning := {*superword_ids(vocabulary)}):
        return None
    merges = _merges(vocabulary, model)
    if merges is None:
        return None
    start = next((i for i, (_, _, merged) in enumerate(merges) if merged in spanning), len(merges))
    if start < len(merges) // _LEAST_SHARE:
        return None
    joins = _joins(merges[start:])
    if joins is None or not _are_made(vocabulary, merges[:start]):
        return None
    superwords = _superwords(vocabulary, merges[start:], pack_merges(merges[start:]))
    return TwoPhases(_words(vocabulary, model, merges[:start]), joins, superwords=superwords)


def _are_made(vocabulary: Vocabulary, merges: Sequence[Merge]) -> bool:
    """Tell whether merges join only single bytes and results of these merges."""
    made = {merged for _, _, merged in merges}
    made |= {i for i, token in enumerate(vocabulary.tokens()) if len(token) == 1}
    return all(left in made and right in made for left, right, _ in merges)


def _of_whole_words(vocabulary: Vocabulary, model: Model, supermerges: Supermerges) -> TwoPhases:
    """Return the two phases of a vocabulary whose superwords consist of whole words, as in BoundlessBPE.

    Raises VocabularyError if a merge names an id without a token, does not produce the token of its two parts, or
    is listed twice. Also if whole pieces are looked up first, or if ranks decide the other merges, which would
    then join whole words, too.
    """
    if model.merges_rule != "merges" or model.whole_piece_first:
        raise VocabularyError("supermerges need merges_rule='merges' and whole_piece_first=False")
    tokens, merges = vocabulary.tokens(), supermerges.merge_list()
    for merge in merges:
        left, right, merged = merge
        if max(merge) >= len(tokens) or not tokens[left] or not tokens[right]:
            raise VocabularyError(f"supermerge {merge} names an id without a token")
        if tokens[left] + tokens[right] != tokens[merged]:
            raise VocabularyError(f"supermerge {merge} does not make {tokens[merged]!r}")
    if len({merge[:2] for merge in merges}) < len(merges):
        raise VocabularyError("two supermerges join the same two tokens")
    superwords = _superwords(vocabulary, merges, supermerges.merges)
    words = {i for i, token in enumerate(tokens) if len(token) == 1}
    words |= {merged for _, _, merged in model.merge_list() or ()}  # listed: `or` only tells the type checker so
    joins = None if words & {merged for _, _, merged in merges} else _joins(merges)
    if joins is not None:
        return TwoPhases(vocabulary, joins, superwords=superwords, joins_pieces=True)
    # Some superword may consist of several sequences of words, so any two parts may be neighbours.
    members = {part for left, right, _ in merges for part in (left, right)}
    return TwoPhases(vocabulary, array("Q"), superwords=superwords, joins_pieces=True, members=[*members])


def _merges(vocabulary: Vocabulary, model: Model) -> list[Merge] | None:
    """List the merges, best first; None if a whole piece may become a token that merging does not make."""
    listed = model.merge_list()
    if listed is not None:
        return None if model.whole_piece_first else listed
    makers = recover_merges(vocabulary)
    if len(makers) < sum(len(token) > 1 for token in vocabulary.tokens()):
        return None
    return [(left, right, merged) for merged, (left, right) in sorted(makers.items())]


def _joins(merges: Sequence[Merge]) -> array[int] | None:
    """Pack the pairs of adjacent tokens inside superwords: left id << 32 | right id, as uint64.

    Returns None if a merge joins tokens that later merges make, or a token is made in two ways.

    merges: of the second phase, the best first.
    """
    made: dict[int, tuple[int, int]] = {}  # by id: its first and last id of the first phase
    later = {merged for _, _, merged in merges}
    joins = set()
    for left, right, merged in merges:
        if merged in made or (left in later and left not in made) or (right in later and right not in made):
            return None
        # before, behind: the ids of the first phase on both sides of the joint
        first, before = made.get(left, (left, left))
        behind, last = made.get(right, (right, right))
        joins.add(before << 32 | behind)
        made[merged] = first, last
    return array("Q", joins)


def _superwords(vocabulary: Vocabulary, merges: Iterable[Merge], packed: Buffer) -> Vocabulary:
    """Return the vocabulary of the second phase: its merges, their tokens and the single bytes.

    All other tokens are left out, so that the table of pairs is small.
    """
    kept = {token_id for merge in merges for token_id in merge}
    tokens = [token if len(token) == 1 or i in kept else b"" for i, token in enumerate(vocabulary.tokens())]
    return Vocabulary(**build_tables(tokens, packed), whole_piece_first=False, drops_bytes=vocabulary.drops_bytes)


def _words(vocabulary: Vocabulary, model: Model, merges: Iterable[Merge]) -> Vocabulary:
    """Return the vocabulary of the first phase: the single bytes, and the results of the given merges."""
    kept = {merged for _, _, merged in merges}
    tokens = [token if len(token) == 1 or i in kept else b"" for i, token in enumerate(vocabulary.tokens())]
    listed = pack_merges(merges) if model.merges_rule == "merges" else None
    return Vocabulary(
        **build_tables(tokens, listed), whole_piece_first=model.whole_piece_first, drops_bytes=model.drops_bytes
    )
