"""Encode text: split it into pieces, then merge within each piece."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any


def merge_ranks(ranks: Mapping[bytes, int], piece: bytes) -> list[int]:
    """Merge one piece as tiktoken does, by the ranks of whole tokens.

    A piece that is a token is that token. Otherwise join the adjacent pair whose bytes are the token of the
    lowest rank, the leftmost such pair, until no pair is a token. How a token was learned does not matter
    here: any two neighbours that spell it will do.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abcab": 5}
    >>> merge_ranks(ranks, b"abca"), merge_ranks(ranks, b"abcab")
    ([0, 3, 0], [5])

    A byte that is not a token raises KeyError.
    """
    if piece in ranks:
        return [ranks[piece]]
    parts = [piece[at : at + 1] for at in range(len(piece))]
    while True:
        joined = [left + right for left, right in pairwise(parts)]
        known = [(ranks[token], at) for at, token in enumerate(joined) if token in ranks]
        if not known:
            return [ranks[part] for part in parts]
        _, at = min(known)
        parts[at : at + 2] = [joined[at]]


def merge_pairs(merges: Mapping[tuple[int, int], tuple[int, int]], ids: Iterable[int]) -> list[int]:
    """Merge one piece by a list of pairs: (left id, right id) -> (priority, new id).

    Join the listed pair of the lowest priority, the leftmost such pair, until none is left. Unlike
    `merge_ranks`, only the pairs listed count, and a piece that is a token is not looked up first.

    >>> merges = {(97, 97): (0, 256), (97, 98): (1, 257), (256, 257): (2, 258)}
    >>> merge_pairs(merges, b"aaabdaaabac")
    [258, 100, 258, 97, 99]
    """
    merged = list(ids)
    while True:
        known = [(merges[pair][0], at) for at, pair in enumerate(pairwise(merged)) if pair in merges]
        if not known:
            return merged
        _, at = min(known)
        merged[at : at + 2] = [merges[merged[at], merged[at + 1]][1]]


def last_merge(priority: Callable[[bytes, bytes], int | None], token: bytes) -> tuple[bytes, bytes] | None:
    """Return the last merge of a token's own bytes, the only one that ever makes it; None if merging leaves parts.

    priority: of a pair of tokens; None if it does not merge. The lowest merges first, the leftmost of equals.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"d": 3, b"bc": 4, b"abcd": 5, b"abc": 6, b"dad": 7}
    >>> last_merge(lambda left, right: ranks.get(left + right), b"abcd")
    (b'abc', b'd')
    >>> last_merge(lambda left, right: ranks.get(left + right), b"dad")
    """
    parts = [token[at : at + 1] for at in range(len(token))]
    last = None
    while True:
        found = [(priority(left, right), at) for at, (left, right) in enumerate(pairwise(parts))]
        known = [(rank, at) for rank, at in found if rank is not None]
        if not known:
            return last if len(parts) == 1 else None
        _, at = min(known)
        last = parts[at], parts[at + 1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def merge_tree(priority: Callable[[bytes, bytes], int | None], token: bytes) -> tuple[bytes, list[Any]]:
    """Return a token and the trees of its parts, by the last merge of each; no parts if no merge makes it.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 4, b"abc": 5}
    >>> merge_tree(lambda left, right: ranks.get(left + right), b"abc")
    (b'abc', [(b'a', []), (b'bc', [(b'b', []), (b'c', [])])])
    """
    parts = last_merge(priority, token)
    return token, [merge_tree(priority, part) for part in parts or ()]


def encode(
    text: str, ranks: Mapping[bytes, int], split: Callable[[str], Iterable[str]] | None = None
) -> list[int]:
    """Encode a text: `split` makes pieces (without it, the text is one), `merge_ranks` encodes each.

    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"aa": 256, b"ab": 257, b"aaab": 258}
    >>> encode("aaabdaaabac", ranks)
    [258, 100, 258, 97, 99]
    >>> encode("aa aab", ranks, str.split)
    [256, 256, 98]

    A surrogate pair is the character that it makes, a lone surrogate is U+FFFD, as in tiktoken.

    >>> encode("\\ud83d", ranks)
    [239, 191, 189]
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    pieces = [text] if split is None else split(text)
    return [token_id for piece in pieces if piece for token_id in merge_ranks(ranks, piece.encode())]


def decode(ids: Iterable[int], tokens: Sequence[bytes] | Mapping[int, bytes]) -> bytes:
    """Join the bytes of tokens. Ids may cut a character in two, so the caller decodes the bytes.

    >>> decode([1, 0, 1], [b"n", b"a"])
    b'ana'
    """
    return b"".join(tokens[token_id] for token_id in ids)
