"""Merging with dropout as tokenizers does it: skipped merges are queued again once a later one is not skipped."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from random import SystemRandom

from fastbpe.tokenizers.token import Token

_RNG = SystemRandom()  # so that forked processes draw different numbers
#: Pair of ids → rank of the merge, and the id that it produces.
Merges = Mapping[tuple[int, int], tuple[int, int]]


def merge(tokens: list[Token], merges: Merges, names: Mapping[int, str], dropout: float) -> list[Token]:
    """Merge the base symbols of a piece. dropout: probability of skipping a merge when its turn comes."""
    ids: list[int | None] = [token.id for token in tokens]  # None: the symbol was merged into one before it
    ends = [token.offsets[1] for token in tokens]
    behind = [*range(1, len(ids) + 1)]  # index of the next symbol that was not merged into another
    before = [*range(-1, len(ids) - 1)]  # index of the last such symbol before it; -1: none
    queue: list[tuple[int, int, int]] = []  # rank, index of the left symbol, id of the merged pair
    passed_over: list[tuple[int, int, int]] = []

    def pair_at(i: int) -> tuple[int, int] | None:
        """Return the rank and result of merging symbol i and the next one; None: they have no merge."""
        left, j = ids[i], behind[i]
        right = ids[j] if j < len(ids) else None
        return None if left is None or right is None else merges.get((left, right))

    def push(i: int) -> None:
        found = pair_at(i)
        if found is not None:
            heapq.heappush(queue, (found[0], i, found[1]))

    for i in range(len(ids)):
        push(i)
    while queue:
        top = heapq.heappop(queue)
        if _RNG.random() < dropout:
            passed_over.append(top)
            continue
        for one in passed_over:
            heapq.heappush(queue, one)
        passed_over.clear()
        _, i, made = top
        found = pair_at(i)
        if found is None or found[1] != made:  # another merge has taken a symbol of this pair
            continue
        j = behind[i]
        ids[i], ids[j], ends[i], behind[i] = made, None, ends[j], behind[j]
        if behind[j] < len(ids):
            before[behind[j]] = i
        if before[i] >= 0:
            push(before[i])
        push(i)
    out, start = [], 0
    for token_id, end in zip(ids, ends, strict=True):
        if token_id is not None:
            out.append(Token(token_id, names[token_id], (start, end)))
            start = end
    return out
