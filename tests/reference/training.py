"""Learn merges: count all pairs, merge the best one everywhere, repeat."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from reference.encoding import merge_ranks

Pair = tuple[int, int]
Ties = Literal["pair", "huggingface", "first"]


class Merges(NamedTuple):
    """Merges and tokens that training learned."""

    merges: list[tuple[int, int, int]]
    """(left id, right id, new id), in the order of learning; new ids are 256, 257, ..., or follow the base's."""
    tokens: list[bytes]
    """The bytes of every token, by id; empty for an id below the base's greatest that is none."""


def train(
    pieces: Mapping[bytes, int] | Iterable[tuple[bytes, int]],
    *,
    n_merges: int,
    ties: Ties = "pair",
    min_count: int = 1,
    max_token_bytes: int | None = None,
    base: Mapping[bytes, int] | None = None,
) -> Merges:
    """Learn up to `n_merges` merges from pieces and how often each occurs.

    Every merge joins the adjacent pair with the greatest count. All occurrences count, also those that
    overlap: `aaa` has two `aa`. Merging goes from left to right, so `aaa` becomes `aa`, `a`. No pair crosses
    the border of a piece.

    >>> train({b"aaabdaaabac": 1}, n_merges=3).merges
    [(97, 97, 256), (97, 98, 257), (256, 257, 258)]

    `ties` says who wins among pairs with the greatest count:

    - `"pair"`: the smallest left id, then the smallest right id (rustbpe, bpeasy).
    - `"huggingface"`: the same, but bytes compare in `STAND_IN_ORDER` (tokenizers).
    - `"first"`: the pair met first in the text, pieces being given in the order of their first appearance
      (minbpe).

    >>> words = [(word, 1) for word in b"a refrain from rain in a train".split()]
    >>> [train(words, n_merges=3, ties=ties).tokens[256:] for ties in ("first", "pair")]
    [[b'in', b'ra', b'rain'], [b'in', b'ain', b'rain']]
    >>> [train({b" r": 1, b"lo": 1}, n_merges=1, ties=ties).tokens[256] for ties in ("pair", "huggingface")]
    [b' r', b'lo']

    A pair that occurs less than `min_count` times is not made, nor one that would be longer than
    `max_token_bytes`; training ends when no pair is left. The limits of the peers say less than their names:
    bpeasy's and tokenizers' `max_token_length=n` counts bytes and means `max_token_bytes=max(2, n - 1)`.

    >>> train({b"abab": 3, b"cd": 1}, n_merges=9, min_count=2).tokens[256:]
    [b'ab', b'abab']
    >>> train({b"abab": 3, b"cd": 1}, n_merges=9, max_token_bytes=2).tokens[256:]
    [b'ab', b'cd']

    `base` gives tokens and their ranks that there are already. Pieces are made of those, as `merge_ranks` encodes
    them, and the new ids follow the greatest rank. A pair whose bytes are a token is then not made: only a base
    that was not learned by merging has such pairs.

    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 260}
    >>> train({b"abcd": 2, b"abd": 1}, n_merges=9, base=ranks).merges
    [(260, 100, 261), (256, 100, 262)]
    """
    words: dict[bytes, int] = {}
    for piece, count in pieces.items() if isinstance(pieces, Mapping) else pieces:
        words[piece] = words.get(piece, 0) + count
    ranks = {bytes([byte]): byte for byte in range(256)} if base is None else base
    cut = [(merge_ranks(ranks, piece), count) for piece, count in words.items()]
    tokens = [b""] * (max(ranks.values()) + 1)
    for token, rank in ranks.items():
        tokens[rank] = token
    known = set(tokens)
    merges: list[tuple[int, int, int]] = []
    while len(merges) < n_merges:
        counts = {
            (a, b): count
            for (a, b), count in count_pairs(cut).items()
            if tokens[a] + tokens[b] not in known
            and (max_token_bytes is None or len(tokens[a]) + len(tokens[b]) <= max_token_bytes)
        }
        if not counts or max(counts.values()) < min_count:
            break
        left, right = pair = best_pair(counts, ties)
        new_id = len(tokens)
        tokens.append(tokens[left] + tokens[right])
        known.add(tokens[-1])
        merges.append((left, right, new_id))
        cut = [(merge_pair(ids, pair, new_id), count) for ids, count in cut]
    return Merges(merges, tokens)


def count_pairs(cut: list[tuple[list[int], int]]) -> dict[Pair, int]:
    """Count every pair, in the order of first appearance."""
    counts: dict[Pair, int] = {}
    for ids, count in cut:
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + count
    return counts


def best_pair(counts: dict[Pair, int], ties: Ties) -> Pair:
    """Return the most frequent pair; `train` says which of several."""
    greatest = max(counts.values())
    best = [pair for pair, count in counts.items() if count == greatest]
    if ties == "first":
        return best[0]
    if ties == "huggingface":
        return min(best, key=lambda pair: (_byte_level_rank(pair[0]), _byte_level_rank(pair[1])))
    return min(best)


def merge_pair(ids: list[int], pair: Pair, new_id: int) -> list[int]:
    """Replace `pair` from left to right. Three equal ids hold it twice but become two tokens."""
    merged: list[int] = []
    at = 0
    while at < len(ids):
        if tuple(ids[at : at + 2]) == pair:
            merged.append(new_id)
            at += 2
        else:
            merged.append(ids[at])
            at += 1
    return merged


def _byte_level_order() -> list[int]:
    """Return the bytes in the order of the characters that stand for them in GPT-2's vocabulary files.

    Bytes that are printable in Latin-1 stand for themselves. The others (controls, space, no-break space, soft
    hyphen) are the characters from U+0100 on, and come last. tokenizers numbers its byte alphabet in this order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return printable + [byte for byte in range(256) if byte not in printable]


STAND_IN_ORDER = _byte_level_order()
"""`STAND_IN_ORDER[n]` is the byte that has the id n in a vocabulary trained by tokenizers."""


def _byte_level_rank(token_id: int) -> int:
    return STAND_IN_ORDER.index(token_id) if token_id < 256 else token_id
