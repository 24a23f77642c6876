"""Decodes ids as they come, and returns only complete characters."""

from collections.abc import Sequence
from typing import Any, SupportsIndex, final

from typing_extensions import Self

from fastbpe._core.decode.id_reader import IdReader
from fastbpe.model import Buffer

@final
class StreamDecoder:
    def __new__(
        cls,
        reader: IdReader,
        errors: str,
        unknown_ids: str = "raise",
        *,
        joins: bool = True,
        leading: bool | None = None,
        whole: frozenset[int] = ...,
        runs: frozenset[int] | None = None,
        firsts: dict[int, bytes] | None = None,
    ) -> Self: ...
    def push(self, ids: SupportsIndex | Sequence[int] | Buffer) -> str: ...
    def finish(self) -> str: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
