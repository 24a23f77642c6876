from typing import Literal, final

from fastbpe._core.splitter import Splitter

@final
class Sequence(Splitter):
    def __init__(self, first: Splitter, second: Splitter) -> None: ...
    @property
    def first(self) -> Splitter: ...
    @property
    def second(self) -> Splitter: ...

@final
class Regrouped(Splitter):
    def __init__(
        self,
        splitter: Splitter,
        behavior: Literal["removed", "merged_with_previous", "merged_with_next", "contiguous"],
        *,
        invert: bool = False,
    ) -> None: ...
    @property
    def splitter(self) -> Splitter: ...
    @property
    def behavior(self) -> str: ...

@final
class StandIns(Splitter):
    def __init__(self, splitter: Splitter) -> None: ...
    @property
    def splitter(self) -> Splitter: ...
