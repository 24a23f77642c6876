from collections.abc import Callable, Iterable, Sequence
from typing import final

from typing_extensions import Self

@final
class Form:
    def __new__(cls, name: str, characters: Iterable[tuple[int, int, int]]) -> Self: ...
    @property
    def name(self) -> str: ...
    def normalize(self, text: str | bytes) -> bytes: ...
    def sources(self, text: str | bytes) -> list[int] | None: ...

@final
class Front:
    def __new__(
        cls,
        *,
        form: Form | None = None,
        change: Callable[[str], str] | None = None,
        sources: Callable[[str], Sequence[int] | None] | None = None,
        prefix_space: bool = False,
    ) -> Self: ...
    @property
    def form(self) -> Form | None: ...
    @property
    def change(self) -> Callable[[str], str] | None: ...
    @property
    def sources(self) -> Callable[[str], Sequence[int] | None] | None: ...
    @property
    def prefix_space(self) -> bool: ...
