from typing import Literal, final

from typing_extensions import Self

from fastbpe._core.split.splitter import Splitter

@final
class Sequence(Splitter):
    def __new__(cls, first: Splitter, second: Splitter) -> Self: ...
    @property
    def first(self) -> Splitter: ...
    @property
    def second(self) -> Splitter: ...

@final
class Uncut(Splitter):
    def __new__(cls, splitter: Splitter) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...

@final
class Regrouped(Splitter):
    def __new__(
        cls,
        splitter: Splitter,
        behavior: Literal["removed", "merged_with_previous", "merged_with_next", "contiguous"],
        *,
        invert: bool = False,
    ) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
    @property
    def behavior(self) -> str: ...

@final
class GroupedFromRight(Splitter):
    def __new__(cls, splitter: Splitter, length: int) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
    @property
    def length(self) -> int: ...

@final
class StandIns(Splitter):
    def __new__(cls, splitter: Splitter) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
