from typing import Literal, final

from typing_extensions import Self

from fastbpe._core.split.splitter import Splitter

@final
class FixedLength(Splitter):
    def __new__(cls, length: int) -> Self: ...
    @property
    def length(self) -> int: ...

@final
class ByScript(Splitter):
    def __new__(cls, index: bytes, rows: bytes) -> Self: ...

@final
class ByText(Splitter):
    def __new__(cls, text: bytes, how: Literal["matches", "begins", "runs"]) -> Self: ...
