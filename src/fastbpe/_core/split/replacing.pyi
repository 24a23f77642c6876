"""Step that replaces the matches of a pattern by a text."""

from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.text_steps import TextStep
from fastbpe._core.split.splitter import Splitter

@final
class Replaced(TextStep):
    def __new__(cls, splitter: Splitter, content: bytes) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
