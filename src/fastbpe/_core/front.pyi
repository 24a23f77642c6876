from collections.abc import Callable, Iterable
from typing import final

from typing_extensions import Self

@final
class Form:
    def __new__(cls, name: str, characters: Iterable[tuple[int, int, int]]) -> Self: ...
    @property
    def name(self) -> str: ...
    def normalize(self, text: str | bytes) -> bytes: ...

@final
class Front:
    def __new__(
        cls,
        *,
        form: Form | None = None,
        change: Callable[[bytes], bytes] | None = None,
        prefix_space: bool = False,
    ) -> Self: ...
    @property
    def form(self) -> Form | None: ...
    @property
    def change(self) -> Callable[[bytes], bytes] | None: ...
    @property
    def prefix_space(self) -> bool: ...
