"""Steps that change text before it is split, like the normalizers of a tokenizer.json; and their sequence."""

from collections.abc import Callable, Sequence
from typing import final

from typing_extensions import Self, disjoint_base

from fastbpe._core.normalize.unicode_forms import Form

@disjoint_base
class TextStep: ...

@final
class Mapped(TextStep):
    def __new__(
        cls, table: dict[int, str], gone: tuple[tuple[int, int], ...], spaced: tuple[tuple[int, int], ...]
    ) -> Self: ...

@final
class Changed(TextStep):
    def __new__(cls, change: Callable[[str], str], sources: Callable[[str], Sequence[int] | None]) -> Self: ...
    @property
    def change(self) -> Callable[[str], str]: ...
    @property
    def sources(self) -> Callable[[str], Sequence[int] | None]: ...

@final
class Link:
    def __new__(cls, step: TextStep, then: Link | None) -> Self: ...

@final
class Front:
    def __new__(
        cls,
        steps: list[TextStep],
        *,
        form: Form | None = None,
        prefix_space: bool = False,
        first: Front | None = None,
    ) -> Self: ...
    @property
    def steps(self) -> list[TextStep]: ...
    @property
    def form(self) -> Form | None: ...
    @property
    def prefix_space(self) -> bool: ...
    @property
    def first(self) -> Front | None: ...
