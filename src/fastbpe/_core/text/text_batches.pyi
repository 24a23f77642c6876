from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Buffer, Self

@final
class TextBatches:
    def __new__(cls, texts: Iterable[Any]) -> Self: ...

@final
class TextRows:
    """Texts in one UTF-8 buffer, read without creating an object for each."""

    def __new__(
        cls,
        data: Buffer | None,
        offsets: Buffer | None,
        validity: Buffer | None,
        first: int,
        n: int,
        *,
        wide: bool,
    ) -> Self: ...
    def __len__(self) -> int: ...
