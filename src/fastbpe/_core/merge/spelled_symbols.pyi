from typing import final

from typing_extensions import Self

@final
class SpelledSymbols:
    def __new__(
        cls,
        *,
        prefix: bytes = b"",
        suffix: bytes = b"",
        unknown_id: int | None = None,
        fuses: bool = False,
        byte_ids: list[int] | None = None,
    ) -> Self: ...
