"""Reader of the texts in JSON Lines."""

from typing import final

from typing_extensions import Self

@final
class JsonLines:
    def __new__(cls, block: bytes, field: str) -> Self: ...

def n_newlines(block: bytes) -> int: ...
def texts_of_lines(block: bytes, field: str) -> tuple[list[bytes | None], list[tuple[int, bytes]]]: ...
