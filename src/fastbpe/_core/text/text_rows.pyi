"""Texts that lie end to end in one buffer of UTF-8, as Arrow has them."""

from typing import final

from typing_extensions import Buffer, Self

@final
class TextRows:
    """Texts in one buffer of UTF-8, read without an object for each."""

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
