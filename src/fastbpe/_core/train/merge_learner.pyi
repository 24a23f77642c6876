from collections.abc import Callable

from typing_extensions import disjoint_base

@disjoint_base
class MergeLearner:
    def learn(self, progress: Callable[[int], object] | None = None) -> None: ...
    def merges(self) -> list[tuple[int, int, int]]: ...
