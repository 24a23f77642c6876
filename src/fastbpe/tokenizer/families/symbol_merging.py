"""Merging of symbols with the pairs of a vocabulary, in Python: for single tokens, and for showing the steps."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import islice

from fastbpe._core.merge.vocabulary import Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

NO_SYMBOL = -1  # in place of a symbol that the vocabulary lacks; it merges with nothing
_TAKEN = -2  # in place of a symbol that has merged with the one before it


def symbols_in(parts: Iterable[bytes], vocabulary: Vocabulary) -> list[int]:
    """Return the symbol of each part; NO_SYMBOL for a part that the vocabulary lacks."""
    return [NO_SYMBOL if (symbol := vocabulary.find(part)) is None else symbol for part in parts]


def merge_all(
    symbols: Sequence[int],
    vocabulary: Vocabulary,
    may_make: Callable[[int], bool] | None = None,
    *,
    until: int = 1,
) -> tuple[list[int], list[int]]:
    """Merge symbols as `merge_steps` does, until `until` symbols are left.

    Returns the symbols that are left, and the index in `symbols` at which each begins.
    """
    kept = [*symbols]
    steps = merge_steps(kept, vocabulary, may_make)
    for _ in islice(steps, max(len(kept) - until, 0)):  # each step leaves one symbol fewer
        pass
    starts = [at for at, symbol in enumerate(kept) if symbol != _TAKEN]
    return [kept[at] for at in starts], starts


def merge_steps(
    symbols: list[int], vocabulary: Vocabulary, may_make: Callable[[int], bool] | None = None
) -> Iterator[tuple[int, int, int, int]]:
    """Merge symbols in place, the best pair first and the leftmost of equal pairs.

    Takes O(n log n) time: pairs wait in a heap, and an entry whose symbols have changed since is skipped.

    symbols: symbols of the vocabulary, or NO_SYMBOL. A merge writes its symbol at the index of the left one, and
        _TAKEN at the index of the right one.
    may_make: function that tells which symbols merges may make; None: all.

    Yields each merge: index of the left symbol, index of the right one, the new symbol, the priority of the pair.
    """
    n = len(symbols)
    before, behind = [*range(-1, n - 1)], [*range(1, n + 1)]  # indices of the neighbours that are not taken
    heap: list[tuple[int, int, int, int, int]] = []  # (priority, index, both symbols, merged symbol)

    def queue(at: int) -> None:
        right = behind[at]
        if right == n or symbols[at] < 0 or symbols[right] < 0:
            return
        pair = vocabulary.pair(symbols[at], symbols[right])
        if pair is not None and (may_make is None or may_make(pair[1])):
            heappush(heap, (pair[0], at, symbols[at], symbols[right], pair[1]))

    for at in range(n):
        queue(at)
    while heap:
        priority, at, first, second, merged = heappop(heap)
        right = behind[at]
        if symbols[at] != first or right == n or symbols[right] != second:
            continue
        symbols[at], symbols[right] = merged, _TAKEN
        behind[at] = behind[right]
        if behind[at] < n:
            before[behind[at]] = at
        yield at, right, merged, priority
        queue(at)
        if before[at] >= 0:
            queue(before[at])
