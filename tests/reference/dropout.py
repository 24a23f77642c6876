"""BPE dropout (Provilkov et al. 2020): merge one piece, skipping pairs at random."""

from collections.abc import Callable, Iterable, Mapping


def merge_dropping(
    merges: Mapping[tuple[int, int], tuple[int, int]],
    ids: Iterable[int],
    is_dropped: Callable[[], bool],
    *,
    again: bool,
) -> list[int]:
    """Merge one piece by a list of pairs: (left id, right id) -> (priority, new id).

    Pairs wait in a queue, the best first, leftmost on ties. When a pair's turn comes, `is_dropped`
    decides at random whether the pair is dropped; if not, it is merged. A pair stays in the queue when one of its
    symbols merges with another symbol; the pair is then outdated.

    again: True (tokenizers): a dropped pair waits until the next pair is not dropped, which may be an outdated
        pair, and is then queued again. False (sentencepiece): a dropped pair is never merged at its position, and
        `is_dropped` is not called for outdated pairs.

    >>> merges = {(97, 98): (0, 256), (256, 99): (1, 257)}
    >>> merge_dropping(merges, b"abcab", lambda: False, again=True)
    [257, 256]
    >>> draws = iter([True, False, False, False, False])
    >>> merge_dropping(merges, b"abcab", lambda: next(draws), again=True)
    [257, 256]
    >>> draws = iter([True, False])
    >>> merge_dropping(merges, b"abcab", lambda: next(draws), again=False)
    [97, 98, 99, 256]
    """
    symbols: dict[int, int] = dict(enumerate(ids))  # position → symbol that begins there

    def neighbours(at: int) -> tuple[int | None, int | None]:
        before = max((other for other in symbols if other < at), default=None)
        return before, min((other for other in symbols if other > at), default=None)

    def merge_at(at: int | None) -> tuple[int, int, int] | None:
        """Return (priority, position, new id) of the pair that begins at a position."""
        right = None if at not in symbols else neighbours(at)[1]
        if at is None or right is None or (symbols[at], symbols[right]) not in merges:
            return None
        priority, new_id = merges[symbols[at], symbols[right]]
        return priority, at, new_id

    queue = [entry for at in symbols if (entry := merge_at(at))]
    gone: set[tuple[int, int, int]] = set()
    waiting: list[tuple[int, int, int]] = []
    while queue:
        entry = min(queue)
        queue.remove(entry)
        if again:
            if is_dropped():
                waiting.append(entry)
                continue
            queue, waiting = queue + waiting, []
        at = entry[1]
        if merge_at(at) != entry or entry in gone:
            continue
        if not again and is_dropped():
            gone.add(entry)
            continue
        before, right = neighbours(at)
        assert right is not None
        del symbols[right]
        symbols[at] = entry[2]
        queue += [pair for other in (before, at) if (pair := merge_at(other))]
    return [symbols[at] for at in sorted(symbols)]
