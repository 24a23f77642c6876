from collections.abc import Iterable
from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.text_steps import TextStep

@final
class Form(TextStep):
    def __new__(cls, name: str, characters: Iterable[tuple[int, int, int]]) -> Self: ...
    @property
    def name(self) -> str: ...
    def normalize(self, text: str | bytes) -> bytes: ...
    def sources(self, text: str | bytes) -> list[int] | None: ...
