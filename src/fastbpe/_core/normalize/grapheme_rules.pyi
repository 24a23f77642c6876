from collections.abc import Callable, Iterable, Sequence
from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.text_steps import TextStep

@final
class GraphemeRules(TextStep):
    def __new__(
        cls,
        charsmap: bytes,
        classes: Iterable[tuple[int, int, int]],
        parts: Callable[[str], Iterable[tuple[str, str]]],
        sources: Callable[[str], Sequence[int]],
    ) -> Self: ...
    @property
    def parts(self) -> Callable[[str], Iterable[tuple[str, str]]]: ...
    @property
    def sources(self) -> Callable[[str], Sequence[int]]: ...
    @property
    def are_utf8(self) -> bool: ...
