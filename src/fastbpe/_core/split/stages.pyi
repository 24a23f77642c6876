from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.text_steps import TextStep
from fastbpe._core.split.splitter import Splitter

@final
class Stage:
    def __new__(
        cls,
        *,
        prefix: bytes = b"",
        only_first: bool = False,
        space: bytes = b"",
        to_bytes: bool = False,
        splitter: Splitter | None = None,
        then: Stage | None = None,
    ) -> Self: ...
    @property
    def splitter(self) -> Splitter | None: ...
    @property
    def then(self) -> Stage | None: ...
    @property
    def needs_first(self) -> bool: ...
    @property
    def holds_gil(self) -> bool: ...

@final
class Replaced(TextStep):
    def __new__(cls, splitter: Splitter, content: bytes) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
