"""Merges of code points as scores, and whether these say the same: the slow twin of `formats.merges_as_scores`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

METASPACE = "\u2581"
NORMAL = 1


def rescore(
    pieces: Sequence[str], types: Sequence[int], merges: Sequence[tuple[int, int, int]], *, splits: bool
) -> tuple[bytes, list[int]]:
    """Return (scores, ids of pieces that must not be merged), as `merges_as_scores.rescore` does."""
    ids = _usable(pieces, types, splits)
    usable = {*ids.values()}
    ranks = {
        (pieces[left], pieces[right]): number
        for number, (left, right, merged) in enumerate(merges)
        if usable.issuperset((left, right, merged))
    }
    makers: dict[int, int] = {}
    apart: list[int] = []
    for piece, i in ids.items():
        symbols, last = [*piece], None
        while found := [(ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks]:
            last, at = min(found)
            symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
        if len(symbols) == 2:
            apart.append(i)
        if len(symbols) == 1 and last is not None:
            makers[i] = last
    order = sorted(makers, key=makers.__getitem__)
    order += sorted(usable.difference(order))
    scores = {i: -float(n) for n, i in enumerate(order)}
    return struct.pack(f"<{len(pieces)}f", *(scores.get(i, 0.0) for i in range(len(pieces)))), sorted(apart)


def _usable(pieces: Sequence[str], types: Sequence[int], splits: bool) -> dict[str, int]:
    """Return piece → id of the pieces that text may become."""
    return {
        piece: i
        for i, piece in enumerate(pieces)
        if types[i] == NORMAL and " " not in piece and not (splits and METASPACE in piece[1:])
    }


def judge(
    pieces: Sequence[str], types: Sequence[int], merges: Sequence[tuple[int, int, int]], *, splits: bool
) -> tuple[bytes, bool]:
    """Return (scores, whether they say what the merges say), as `merges_as_scores.judge` does.

    Args:
        pieces: text of each id.
        types: a PieceType for each id.
        merges: (left id, right id, merged id), best first, no pair twice.
        splits: no piece has U+2581 except as its first character.
    """
    ids = _usable(pieces, types, splits)
    usable = {*ids.values()}
    merges = [merge for merge in merges if usable.issuperset(merge)]
    ranks: dict[int, int] = {}
    for _, _, merged in merges:
        ranks.setdefault(merged, len(ranks))
    in_order = all(ranks[one[2]] <= ranks[other[2]] for one, other in pairwise(merges))
    for i in sorted(usable):
        ranks.setdefault(i, len(ranks))
    n_splits = sum(
        all(part in ids or len(part) == 1 for part in (piece[:cut], piece[cut:]))
        for piece in ids
        for cut in range(1, len(piece))
    )
    scores = struct.pack(
        f"<{len(pieces)}f", *(-float(ranks[i]) if i in ranks else 0.0 for i in range(len(pieces)))
    )
    return scores, in_order and n_splits == len(merges)
