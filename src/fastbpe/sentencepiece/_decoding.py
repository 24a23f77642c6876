"""Decoding pieces one by one, of a vocabulary or not, with the place of each in what is decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fastbpe.codepoint_model import CodePointModel, PieceType
from fastbpe.codepoints import MARK
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
        self._known: dict[bytes, tuple[int, bytes | None]] = {}  # piece → id, what it gives; None: a byte

    def of(self, pieces: Sequence[bytes]) -> tuple[bytes, list[Piece]]:
        """The text of all pieces, and each with its place there, in bytes."""
        out: list[Piece] = []
        pending: list[bytes] = []  # byte pieces in a row
        known = self._known
        at = 0
        at_start = True
        for piece in pieces:
            token_id, surface = known.get(piece) or self._look_up(piece)
            if surface is None:
                pending.append(piece)
                continue
            if pending:
                at = self._add_bytes(pending, out, at)
                pending.clear()
            if at_start:
                surface, at_start = self._surface(piece, token_id, at == 0)
            end = at + len(surface)
            out.append(Piece(piece, token_id, surface, at, end))
            at = end
        self._add_bytes(pending, out, at)
        return b"".join([piece.surface or b"" for piece in out]), out

    def _look_up(self, piece: bytes) -> tuple[int, bytes | None]:
        token_id = self._id_or_unknown(piece)
        if token_id >= 0 and self._types[token_id] == PieceType.BYTE:
            found: tuple[int, bytes | None] = (token_id, None)
        else:
            found = (token_id, self._surface(piece, token_id, False)[0])
        if piece in self._ids:
            self._known[piece] = found
        return found

    def _add_bytes(self, pending: Sequence[bytes], out: list[Piece], at: int) -> int:
        """Byte pieces from a place on, whose end is returned; the last of a character has all of it."""
        data = bytes([int(piece[3:5], 16) for piece in pending])
        i = 0
        while i < len(data):
            n_bytes = _character_bytes(data, i)
            surface = data[i : i + n_bytes] if n_bytes else _REPLACEMENT
            last = i + max(n_bytes, 1) - 1
            out += [Piece(pending[k], self._ids[pending[k]], b"", at, at) for k in range(i, last)]
            out.append(Piece(pending[last], self._ids[pending[last]], surface, at, at + len(surface)))
            at += len(surface)
            i = last + 1
        return at

    def _surface(self, piece: bytes, token_id: int, at_start: bool) -> tuple[bytes, bool]:
        """What a piece gives, and whether the text still begins after it."""
        if token_id >= 0 and self._types[token_id] == PieceType.CONTROL:
            return b"", at_start
        if token_id < 0 or self._types[token_id] == PieceType.UNKNOWN:
            # One that gives nothing ends the beginning in `decode` to text, but not where places are told:
            # so it is in sentencepiece.
            return (self._unknown_surface if piece in self._ids else piece), at_start
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
