"""Reader of the texts in lines of JSON (JSON Lines)."""

from typing import final

from typing_extensions import Self

@final
class JsonLines:
    """Reader of a block of lines, for other compiled modules."""

    def __new__(cls, block: bytes, field: str) -> Self: ...

def n_newlines(block: bytes) -> int:
    """Count the newlines of a block."""

def texts_of_lines(block: bytes, field: str) -> tuple[list[bytes | None], list[tuple[int, bytes]]]:
    """Read the strings that lines of JSON hold under a field; return (texts, others)."""
