"""Decoding pieces one by one, of a vocabulary or not, with the place of each in what is decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fastbpe.codepoints import MARK
from fastbpe.model import CodePointModel, PieceType
from fastbpe.sentencepiece._texts import Piece

_REPLACEMENT = "\ufffd".encode()


class Surfaces:
    """What pieces become in a text."""

    def __init__(
        self, model: CodePointModel, ids: Mapping[bytes, int], id_or_unknown: Callable[[bytes], int]
    ) -> None:
        self._types = model.types
        self._ids = ids
        self._id_or_unknown = id_or_unknown
        self._unknown_surface = model.trainer["unk_surface"].encode("utf-8", "surrogateescape")
        self._trims = model.normalizer["remove_extra_whitespaces"]
        self._strips = self._trims or model.normalizer["add_dummy_prefix"]

    def of(self, pieces: Sequence[bytes]) -> tuple[bytes, list[Piece]]:
        """The text of all pieces, and each with its place there, in bytes."""
        text = bytearray()
        out: list[Piece] = []
        n_pending = 0  # byte pieces at the end of out
        at_start = True

        def add(piece: bytes, token_id: int, surface: bytes) -> None:
            begin = len(text)
            text.extend(surface)
            out.append(Piece(piece, token_id, surface, begin, len(text)))

        def add_bytes(pending: Sequence[bytes]) -> None:
            data = bytes([int(piece[3:5], 16) for piece in pending])
            at = 0
            while at < len(data):
                n_bytes = _character_bytes(data, at)
                surface = data[at : at + n_bytes] if n_bytes else _REPLACEMENT
                for i in range(at, at + max(n_bytes, 1)):
                    is_last = i + 1 == at + max(n_bytes, 1)
                    add(pending[i], self._ids[pending[i]], surface if is_last else b"")
                at += max(n_bytes, 1)

        for i, piece in enumerate(pieces):
            token_id = self._id_or_unknown(piece)
            if token_id >= 0 and self._types[token_id] == PieceType.BYTE:
                n_pending += 1
                continue
            add_bytes(pieces[i - n_pending : i])
            n_pending = 0
            at_start = at_start and not text
            surface, at_start = self._surface(piece, token_id, at_start)
            add(piece, token_id, surface)
        add_bytes(pieces[len(pieces) - n_pending :])
        return bytes(text), out

    def _surface(self, piece: bytes, token_id: int, at_start: bool) -> tuple[bytes, bool]:
        """What a piece gives, and whether the text still begins after it."""
        if token_id >= 0 and self._types[token_id] == PieceType.CONTROL:
            return b"", at_start
        if token_id < 0 or self._types[token_id] == PieceType.UNKNOWN:
            text = self._unknown_surface if piece in self._ids else piece
            return text, at_start
        text = piece.replace(MARK, b" ")
        if not at_start or not self._strips or not piece.startswith(MARK):
            return text, at_start
        return text[1:], self._trims


def _character_bytes(data: bytes, at: int) -> int:
    """The bytes of the character of UTF-8 that begins there; 0 if none does."""
    for n_bytes in range(1, 5):
        try:
            data[at : at + n_bytes].decode()
        except UnicodeDecodeError:
            continue
        return n_bytes if at + n_bytes <= len(data) else 0
    return 0
