"""BPE over sequences of integers.

The base symbols 0 … base_size - 1 are their own ids; merge i makes base_size + i.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

Pair = tuple[int, int]


def train(
    sequences: Mapping[tuple[int, ...], int] | Iterable[Sequence[int]],
    *,
    base_size: int,
    n_merges: int,
    ties: Literal["pair", "first"] = "pair",
    min_count: int = 1,
    max_token_length: int | None = None,
    base: Sequence[Pair] = (),
) -> list[Pair]:
    """Learn up to `n_merges` merges. The rules of `training.train` hold; each sequence is a piece.

    With a base, its merges are applied first, and the new ones, which are returned, follow them.

    >>> train([[0, 0, 0, 1, 3, 0, 0, 0, 1, 0, 2]], base_size=4, n_merges=3)
    [(0, 0), (0, 1), (4, 5)]
    >>> train({(2, 1): 2, (0, 3): 2}, base_size=4, n_merges=2)
    [(0, 3), (2, 1)]
    >>> train({(2, 1): 2, (0, 3): 2}, base_size=4, n_merges=2, ties="first")
    [(2, 1), (0, 3)]
    >>> train([[2, 1, 2, 1]], base_size=4, n_merges=1, base=[(2, 1)])
    [(4, 4)]
    """
    weighted = sequences.items() if isinstance(sequences, Mapping) else ((each, 1) for each in sequences)
    left = [(encode(base, base_size, sequence), count) for sequence, count in weighted]
    lengths = [1] * base_size
    for a, b in base:
        lengths.append(lengths[a] + lengths[b])
    merges: list[Pair] = []
    while len(merges) < n_merges:
        counts: dict[Pair, int] = {}
        for ids, count in left:
            for a, b in pairwise(ids):
                if max_token_length is None or lengths[a] + lengths[b] <= max_token_length:
                    counts[a, b] = counts.get((a, b), 0) + count
        greatest = max(counts.values(), default=0)
        if greatest < min_count:
            break
        best = [pair for pair, count in counts.items() if count == greatest]
        pair = best[0] if ties == "first" else min(best)
        left = [(_merge(ids, pair, len(lengths)), count) for ids, count in left]
        lengths.append(lengths[pair[0]] + lengths[pair[1]])
        merges.append(pair)
    return merges


def encode(merges: Sequence[Pair], base_size: int, sequence: Iterable[int]) -> list[int]:
    """Apply the merges one after another, each at all its places from left to right.

    >>> encode([(0, 1), (4, 2)], 4, [0, 1, 2, 0, 1])
    [5, 4]
    """
    ids = list(sequence)
    for i, pair in enumerate(merges):
        ids = _merge(ids, pair, base_size + i)
    return ids


def decode(merges: Sequence[Pair], base_size: int, ids: Iterable[int]) -> list[int]:
    """Replace each id by the two that it was made of, until only symbols are left.

    >>> decode([(0, 1), (4, 2)], 4, [5, 4])
    [0, 1, 2, 0, 1]
    """
    out: list[int] = []
    for token_id in ids:
        out += [token_id] if token_id < base_size else decode(merges, base_size, merges[token_id - base_size])
    return out


def _merge(ids: list[int], pair: Pair, new_id: int) -> list[int]:
    """Replace a pair from left to right."""
    merged: list[int] = []
    at = 0
    while at < len(ids):
        is_pair = tuple(ids[at : at + 2]) == pair
        merged.append(new_id if is_pair else ids[at])
        at += 2 if is_pair else 1
    return merged
