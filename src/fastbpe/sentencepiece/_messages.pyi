"""SentencePieceText: pieces with their offsets, and the message that contains them."""

from collections.abc import Iterable
from typing import Any, TypeAlias, final

_Piece: TypeAlias = tuple[bytes, int, bytes | None, int, int]

def serialize(text: bytes, pieces: list[_Piece]) -> bytes: ...
def encoded(
    text: bytes, types: bytes, pieces: list[bytes], ids: list[int], offsets: list[tuple[int, int]]
) -> list[_Piece]: ...
def in_characters(text: bytes, places: list[int]) -> list[int]: ...
def normalized_in_characters(text: bytes, normalized: bytes, places: list[int]) -> list[int]: ...
def mapping(text: bytes, pieces: list[_Piece], as_bytes: bool) -> dict[str, Any]: ...

@final
class Surfaces:
    def __init__(
        self,
        types: bytes,
        ids: dict[bytes, int],
        unknown_id: int,
        unknown_surface: bytes,
        *,
        trims: bool,
        dummy_prefix: bool,
    ) -> None: ...
    def of(self, pieces: Iterable[bytes]) -> tuple[bytes, list[_Piece]]: ...
