"""SentencePieceText: pieces with their offsets, and the message that contains them."""

from collections.abc import Iterable
from typing import Any, TypeAlias, final

_Piece: TypeAlias = tuple[bytes, int, bytes | None, int, int]

def serialize(text: bytes, pieces: list[_Piece]) -> bytes:
    """Return the message as sentencepiece writes it.

    Args:
        text: UTF-8.
        pieces: tuples (piece, id, surface, begin, end).

    >>> serialize(b"a", [("▁a".encode(), 5, b"a", 0, 1)]).hex()
    '0a0161120f0a04e296816110051a016120002801'
    """

def encoded(
    text: bytes, types: bytes, pieces: list[bytes], ids: list[int], offsets: list[tuple[int, int]]
) -> list[_Piece]:
    """Return the pieces of an encoded text. If a character is several byte pieces, only the last has a surface.

    Args:
        text: UTF-8.
        types: a PieceType for each id.
        pieces, ids, offsets: one per piece; offsets in bytes.
    """

def in_characters(text: bytes, places: list[int]) -> list[int]:
    """Convert offsets in bytes of UTF-8 to offsets in characters.

    Raises:
        IndexError: an offset beyond the end.
    """

def normalized_in_characters(text: bytes, normalized: bytes, places: list[int]) -> list[int]:
    """Return the origin, in characters of a text, of each character of its normalized text and of the end.

    Args:
        text: UTF-8 before normalization.
        normalized: UTF-8 after it.
        places: origin, in bytes of the text, of each byte of `normalized` and of the end; [] if it is empty.
    """

def mapping(text: bytes, pieces: list[_Piece], as_bytes: bool) -> dict[str, Any]:
    """Return the "offset_mapping" of a decoded text.

    Raises:
        ValueError: rules for decoded text have made the text shorter.
    """

@final
class Surfaces:
    """Decodes pieces one by one, even those that are not in the vocabulary, and returns their offsets in the text.

    Args:
        types: a PieceType for each id.
        ids: piece → id.
        unknown_id: id of other pieces; -1 without an unknown piece.
        unknown_surface: text of `<unk>`.
        trims, dummy_prefix: options of the model's normalizer.
    """

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
    def of(self, pieces: Iterable[bytes]) -> tuple[bytes, list[_Piece]]:
        """Return (text of all pieces, each piece with its offsets in bytes)."""
