"""Encode and decode as sentencepiece does with a BPE model: the slow twin of code-point mode.

There is no list of merges. Any two neighbours whose text together is a piece may merge; the pair whose piece has
the highest score merges first, the leftmost of equals. A score of 0 is above one of -0.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from reference.normalization import METASPACE, Normalizer, char_bytes

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Symbol(NamedTuple):
    """Stretch of text during merging, and the symbols that it was made of."""

    text: bytes
    parts: tuple[Symbol, Symbol] | None = None
    is_frozen: bool = False


class Token(NamedTuple):
    """Piece of an encoded text. Its origin is text[begin:end], in bytes."""

    piece: bytes
    id: int
    begin: int
    end: int


@dataclass(frozen=True)
class Processor:
    """BPE model: text, score and type of each id, normalization before encoding and rules after decoding.

    >>> pieces = ["<unk>", "▁", "a", "b", "c", "ab", "bc"]
    >>> scores, types = [0, -9, -9, -9, -9, -1, -1], [2, 1, 1, 1, 1, 1, 1]
    >>> model = Processor([piece.encode() for piece in pieces], scores, types, Normalizer())
    >>> model.encode(b"abc x")
    [1, 5, 4, 1, 0]
    >>> model.decode([1, 5, 4, 1, 0]).decode()
    'abc  ⁇ '
    """

    pieces: Sequence[bytes]
    scores: Sequence[float]
    types: Sequence[int]
    normalizer: Normalizer
    byte_fallback: bool = False
    unk_surface: bytes = " ⁇ ".encode()
    denormalizer: Normalizer | None = None

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {piece: i for i, piece in enumerate(self.pieces)}

    @cached_property
    def _unknown(self) -> int:
        return self.types.index(UNKNOWN)

    def encode(self, text: bytes) -> list[int]:
        return [token.id for token in self.tokens(text)]

    def tokens(self, text: bytes) -> list[Token]:
        """Return the pieces of a text, with their offsets in it."""
        normalized, offsets = self.normalizer.normalize(text)
        tokens: list[Token] = []
        at = 0
        was_unknown = False
        for symbol in self.merged(normalized):
            begin, end = offsets[at], offsets[at + len(symbol)]
            at += len(symbol)
            token_id = self._id(symbol)
            is_unknown = token_id == self._unknown
            if is_unknown and self.byte_fallback:
                names = [b"<0x%02X>" % byte for byte in symbol]
                tokens += [Token(name, self._ids[name], begin, begin) for name in names[:-1]]
                tokens.append(Token(names[-1], self._ids[names[-1]], begin, end))
            elif is_unknown and was_unknown:
                last = tokens.pop()
                tokens.append(Token(last.piece + symbol, token_id, last.begin, end))
            else:
                tokens.append(Token(symbol, token_id, begin, end))
            was_unknown = is_unknown
        return tokens

    def _id(self, text: bytes) -> int:
        """Return the id that a text becomes. Text never becomes control symbols, byte pieces or unused pieces."""
        token_id = self._ids.get(text, self._unknown)
        return token_id if self.types[token_id] in (NORMAL, USER_DEFINED) else self._unknown

    def merged(self, text: bytes) -> list[bytes]:
        """Merge a normalized text; return the texts of its symbols."""
        symbols = self._symbols(text)
        while True:
            scores = [self._score(left, right) for left, right in pairwise(symbols)]
            pairs = [(s, math.copysign(1, s), -at) for at, s in enumerate(scores) if s is not None]
            if not pairs:
                break
            at = -max(pairs)[2]
            left, right = symbols[at : at + 2]
            symbols[at : at + 2] = [Symbol(left.text + right.text, (left, right))]
        return [part for symbol in symbols for part in self._split_again(symbol)]

    def _symbols(self, text: bytes) -> list[Symbol]:
        """Return the symbols to merge: the longest user-defined symbol where one begins, else characters."""
        symbols, at = [], 0
        while at < len(text):
            found = max((s for s in self.normalizer.symbols if text.startswith(s, at)), key=len, default=b"")
            stretch = found or text[at : at + max(char_bytes(text, at), 1)]
            symbols.append(Symbol(stretch, is_frozen=bool(found)))
            at += len(stretch)
        return symbols

    def _score(self, left: Symbol, right: Symbol) -> float | None:
        token_id = self._ids.get(left.text + right.text, self._unknown)
        if left.is_frozen or right.is_frozen or self.types[token_id] not in (NORMAL, USER_DEFINED, UNUSED):
            return None
        return self.scores[token_id]

    def _split_again(self, symbol: Symbol) -> list[bytes]:
        """Split an unused piece into the symbols that it was made of."""
        token_id = self._ids.get(symbol.text)
        if token_id is None or self.types[token_id] != UNUSED or symbol.parts is None:
            return [symbol.text]
        return [text for part in symbol.parts for text in self._split_again(part)]

    def decode(self, ids: Iterable[int]) -> bytes:
        return self.decode_pieces([self.pieces[token_id] for token_id in ids])

    def decode_pieces(self, pieces: Sequence[bytes]) -> bytes:
        """Return the text of pieces, in the vocabulary or not."""
        out = bytearray()
        pending = bytearray()  # bytes of byte pieces in a row
        at_start = True
        for piece in pieces:
            token_id = self._ids.get(piece, self._unknown)
            if self.types[token_id] == BYTE:
                pending.append(int(piece[3:5], 16))
                continue
            out += replaced(pending)
            at_start = at_start and not pending
            pending.clear()
            text, at_start = self._surface(piece, token_id, at_start)
            out += text
        out += replaced(pending)
        text = bytes(out)
        return text if self.denormalizer is None else self.denormalizer.normalize(text)[0]

    def _surface(self, piece: bytes, token_id: int, at_start: bool) -> tuple[bytes, bool]:
        """Return (text of a piece, whether the next piece is still at the start of the text)."""
        if self.types[token_id] == CONTROL:
            return b"", at_start
        if token_id == self._unknown:
            if self._ids.get(piece) == token_id:
                ends = self.unk_surface or (piece.startswith(METASPACE) and not self._trims)
                return self.unk_surface, at_start and not ends
            return piece, at_start and not piece
        text = piece.replace(METASPACE, b" ")
        if (
            not at_start
            or not piece.startswith(METASPACE)
            or not (self._trims or self.normalizer.add_dummy_prefix)
        ):
            return text, at_start and not text
        return text[1:], self._trims and not text[1:]

    @property
    def _trims(self) -> bool:
        return self.normalizer.remove_extra_whitespaces


def replaced(data: bytes | bytearray) -> bytes:
    """Return UTF-8 with U+FFFD for each byte that belongs to no character.

    >>> replaced(bytes.fromhex("c3a9 e697 61")).decode()
    'é��a'
    """
    out, at = bytearray(), 0
    while at < len(data):
        n_bytes = char_bytes(data, at)
        out += data[at : at + n_bytes] if n_bytes else "\ufffd".encode()
        at += n_bytes or 1
    return bytes(out)


def floats(packed: bytes) -> tuple[float, ...]:
    """Unpack scores as a model holds them."""
    return struct.unpack(f"<{len(packed) // 4}f", packed)
