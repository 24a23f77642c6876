"""Listed merges after tokens were removed: a token without makers gets a new merge after all others.

A merge after all others does not affect a token that is made without it: while the bytes of such a token are
merged, there is always a better pair, until they are one token. So existing tokens need not be checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

Pair = tuple[bytes, bytes]


class ListedMerges:
    """List of merges, given by the bytes of their two parts, best first.

    Args:
        pairs: the pairs, best first. Of a repeated pair, the first position counts.
        symbols: function that cuts the bytes of a token into the symbols with which merging begins.
    """

    def __init__(self, pairs: Iterable[Pair], symbols: Callable[[bytes], Sequence[bytes]]) -> None:
        self._priorities: dict[Pair, int] = {}
        for pair in pairs:
            self._priorities.setdefault(pair, len(self._priorities))
        self._symbols = symbols

    @property
    def pairs(self) -> list[Pair]:
        """The pairs, best first."""
        return [*self._priorities]

    def merge(self, token: bytes) -> tuple[list[bytes], Pair | None]:
        """Merge the symbols of a token. Returns the parts that are left, and the last pair that was merged."""
        parts: list[bytes] = [*self._symbols(token)]
        # Linked list of the parts that are left: the place of the next and of the previous one.
        behind = [*range(1, len(parts) + 1)]
        before = [*range(-1, len(parts) - 1)]
        heap: list[tuple[int, int, Pair]] = []  # the best pair first, the leftmost of equals
        last = None

        def queue(left: int, right: int) -> None:
            pair = parts[left], parts[right]
            priority = self._priorities.get(pair)
            if priority is not None:
                heappush(heap, (priority, left, pair))

        for at in range(len(parts) - 1):
            queue(at, at + 1)
        while heap:
            _, at, pair = heappop(heap)
            right = behind[at]
            if right == len(parts) or (parts[at], parts[right]) != pair:
                continue  # outdated: one of the two was merged with another part
            last = pair
            parts[at], parts[right] = pair[0] + pair[1], b""
            behind[at] = behind[right]
            if behind[at] < len(parts):
                before[behind[at]] = at
                queue(at, behind[at])
            if before[at] >= 0:
                queue(before[at], at)
        return [part for part in parts if part], last

    def remake(self, tokens: Iterable[bytes]) -> dict[bytes, Pair]:
        """Append a merge for each token that merging leaves in two parts.

        Returns the last pair of each token that merging now makes. Shorter tokens come first, because longer ones
        may be made from them.
        """
        last_pairs: dict[bytes, Pair] = {}
        for token in sorted(tokens, key=len):
            parts, last = self.merge(token)
            if len(parts) == 2:
                last = parts[0], parts[1]
                self._priorities[last] = len(self._priorities)
            if len(parts) <= 2 and last is not None:
                last_pairs[token] = last
        return last_pairs
