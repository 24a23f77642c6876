"""Merging of symbols with the pairs of a vocabulary, in Python: for single tokens, and for showing the steps."""

from __future__ import annotations

from heapq import heappop, heappush

from fastbpe._core.merge.vocabulary import Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NO_SYMBOL = -1  # in place of a symbol that the vocabulary lacks; it merges with nothing
_TAKEN = -2  # in place of a symbol that has merged with the one before it


def merge_all(
    symbols: Sequence[int],
    vocabulary: Vocabulary,
    may_make: Callable[[int], bool] | None = None,
    *,
    until: int = 1,
) -> tuple[list[int], list[int]]:
    """Merge symbols, the best pair first and the leftmost of equal pairs.

    Takes O(n log n) time: pairs wait in a heap, and an entry whose symbols have changed since is skipped.

    symbols: symbols of the vocabulary, or NO_SYMBOL.
    may_make: function that tells which symbols merges may make; None: all.
    until: stop when this number of symbols is left.

    Returns the symbols that are left, and the index in `symbols` at which each begins.
    """
    kept = [*symbols]
    n = n_kept = len(kept)
    before, behind = [*range(-1, n - 1)], [*range(1, n + 1)]  # indices of the kept neighbours
    heap: list[tuple[int, int, int, int, int]] = []  # (priority, index, both symbols, merged symbol)

    def queue(at: int) -> None:
        right = behind[at]
        if right == n or kept[at] < 0 or kept[right] < 0:
            return
        pair = vocabulary.pair(kept[at], kept[right])
        if pair is not None and (may_make is None or may_make(pair[1])):
            heappush(heap, (pair[0], at, kept[at], kept[right], pair[1]))

    for at in range(n):
        queue(at)
    while heap and n_kept > until:
        _, at, first, second, merged = heappop(heap)
        right = behind[at]
        if kept[at] != first or right == n or kept[right] != second:
            continue
        kept[at], kept[right] = merged, _TAKEN
        n_kept -= 1
        behind[at] = behind[right]
        if behind[at] < n:
            before[behind[at]] = at
        queue(at)
        if before[at] >= 0:
            queue(before[at])
    starts = [at for at, symbol in enumerate(kept) if symbol != _TAKEN]
    return [kept[at] for at in starts], starts


def merge_steps(symbols: list[int], vocabulary: Vocabulary) -> Iterator[tuple[int, int, int]]:
    """Merge symbols in place, the best pair first and the leftmost of equal pairs.

    Yields each merge: index of the new symbol, the symbol, the priority of the pair. Takes quadratic time: use
    `merge_all` for text that may be long.
    """
    while True:
        pairs = [
            (*pair, at)
            for at in range(len(symbols) - 1)
            if (pair := vocabulary.pair(symbols[at], symbols[at + 1])) is not None
        ]
        if not pairs:
            return
        priority, merged, at = min(pairs, key=lambda pair: (pair[0], pair[2]))
        symbols[at : at + 2] = [merged]
        yield at, merged, priority
