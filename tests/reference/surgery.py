"""Remove tokens from a vocabulary, and merge two: the slow twin, token by token.

A rule is a function `priority(left, right)` of the bytes of two neighbours: None if they do not merge, else a
number; the lowest merges first, the leftmost of equals. Ranks, scores and lists of merges are all such rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

Priority = Callable[[bytes, bytes], "float | None"]
Cut = Callable[[bytes], Sequence[bytes]]
Pair = tuple[bytes, bytes]


def each_byte(token: bytes) -> list[bytes]:
    """Cut a token into the symbols of byte level.

    >>> each_byte(b"ab")
    [b'a', b'b']
    """
    return [token[at : at + 1] for at in range(len(token))]


def merged(symbols: Sequence[bytes], priority: Priority) -> tuple[list[bytes], Pair | None]:
    """Merge symbols until no pair is left; return what is left, and the last pair that was merged.

    >>> ranks = {b"ab": 1, b"bc": 0, b"abc": 2}
    >>> merged([b"a", b"b", b"c"], lambda left, right: ranks.get(left + right))
    ([b'abc'], (b'a', b'bc'))
    """
    parts, last = [*symbols], None
    while True:
        found = [(priority(left, right), at) for at, (left, right) in enumerate(pairwise(parts))]
        known = [(number, at) for number, at in found if number is not None]
        if not known:
            return parts, last
        _, at = min(known)
        last = parts[at], parts[at + 1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def makers(tokens: Collection[bytes], priority: Priority, cut: Cut = each_byte) -> dict[bytes, Pair]:
    """Map each token that merging makes of its own symbols to its last merge.

    >>> ranks = {b"a": 0, b"b": 1, b"ab": 2, b"bab": 3, b"bb": 4}
    >>> makers(ranks, lambda left, right: ranks.get(left + right))
    {b'ab': (b'a', b'b'), b'bab': (b'b', b'ab'), b'bb': (b'b', b'b')}
    """
    found = {}
    for token in tokens:
        parts, last = merged(cut(token), priority)
        if parts == [token] and last is not None:
            found[token] = last
    return found


def without(
    tokens: Mapping[bytes, float], gone: Collection[bytes], cut: Cut = each_byte
) -> tuple[dict[bytes, float], list[bytes]]:
    """Remove tokens where any two neighbours that spell one merge: ranks, scores.

    Args:
        tokens: token → priority.
        gone: the tokens to remove.
        cut: cuts a token into symbols.

    Returns:
        The tokens that are left; and, of these, the tokens that merging made before and makes no more.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"abc": 4, b"bc": 5, b"aba": 6}
    >>> without(ranks, [b"ab"])[1]  # abc is made of a and bc now
    [b'aba']
    """
    left = {token: number for token, number in tokens.items() if token not in gone}
    before = makers(left, lambda one, two: tokens.get(one + two), cut)
    after = makers(left, lambda one, two: left.get(one + two), cut)
    return left, [token for token in before if token not in after]


def without_listed(
    tokens: Collection[bytes], pairs: Sequence[Pair], gone: Collection[bytes], cut: Cut = each_byte
) -> tuple[list[Pair], list[bytes]]:
    """Remove tokens where a list of pairs decides.

    A token that has lost its makers gets a new pair after all others if merging leaves two parts of it; shorter
    tokens first.

    Returns:
        The new list, and the tokens that merging made before and makes no more.

    >>> tokens = [b"a", b"b", b"c", b"ab", b"abc", b"bc"]
    >>> pairs = [(b"a", b"b"), (b"ab", b"c"), (b"b", b"c")]
    >>> without_listed(tokens, pairs, [b"ab"])
    ([(b'b', b'c'), (b'a', b'bc')], [])
    """
    before = makers(tokens, _rule(pairs), cut)
    kept = [pair for pair in pairs if not {*pair, pair[0] + pair[1]} & {*gone}]
    lost = []
    for token in sorted(before, key=len):
        if token in gone:
            continue
        parts, _ = merged(cut(token), _rule(kept))
        if len(parts) == 2:
            kept.append((parts[0], parts[1]))
        elif len(parts) > 2:
            lost.append(token)
    return [pair for pair in kept if not {*pair, pair[0] + pair[1]} & {*lost}], lost


def _rule(pairs: Sequence[Pair]) -> Priority:
    order: dict[Pair, float] = {}
    for pair in pairs:
        order.setdefault(pair, len(order))
    return lambda left, right: order.get((left, right))


def pruned(
    tokens: Collection[bytes], used: Collection[bytes], priority: Priority, cut: Cut = each_byte
) -> set[bytes]:
    """Give the tokens that are used, and all that these are made of.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"abc": 4, b"bc": 5}
    >>> sorted(pruned(ranks, [b"abc"], lambda left, right: ranks.get(left + right)))
    [b'a', b'ab', b'abc', b'b', b'c']
    """
    made = makers(tokens, priority, cut)
    found = {*used}
    while more := {part for token in found if token in made for part in made[token]} - found:
        found |= more
    return found


def joined(
    first: Mapping[bytes, float], second: Mapping[bytes, float], cut: Cut = each_byte
) -> tuple[dict[bytes, float], list[bytes]]:
    """Put the tokens of two vocabularies of ranks after each other.

    Returns:
        The new ranks, and the tokens of several symbols of the second that merging does not make.

    >>> first, second = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3}, {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"abcb": 4}
    >>> joined(first, second)
    ({b'a': 0, b'b': 1, b'c': 2, b'ab': 3, b'bc': 4, b'abcb': 5}, [b'abcb'])
    """
    ranks = dict(first)
    for token in sorted(second, key=second.__getitem__):
        ranks.setdefault(token, len(ranks))
    made = makers(ranks, lambda left, right: ranks.get(left + right), cut)
    return ranks, [token for token in ranks if token not in first and len(cut(token)) > 1 and token not in made]
