from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Buffer, Self

@final
class TextBatches:
    def __new__(cls, texts: Iterable[Any]) -> Self: ...

@final
class TextRows:
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
