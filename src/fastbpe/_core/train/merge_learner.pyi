from collections.abc import Callable

from typing_extensions import disjoint_base

@disjoint_base
class MergeLearner:
    """Base of the learners of merges."""

    def learn(self, progress: Callable[[int], object] | None = None) -> None:
        """Learn all merges.

        progress: callable or None – called as progress(n_ids) from time to time, and at the end.
        """

    def merges(self) -> list[tuple[int, int, int]]:
        """Return (left id, right id, count) of each merge, in order; merge i makes id n_base + i."""
