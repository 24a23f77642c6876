"""Decoding ids as they come, without ever giving out half a character."""

from __future__ import annotations

import codecs
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

from fastbpe.model import Buffer

if TYPE_CHECKING:
    from fastbpe._core.decoder import Decoder
    from fastbpe.codepoint_conventions import Decoding


class StreamDecoder:
    """Turns ids into text as they come; made by `Tokenizer.decoder`.

    What `push` and `finish` give, end to end, is what `decode` gives for all the ids, however they are grouped.
    Bytes that may become a character are kept back, three at most.

    >>> from fastbpe import Tokenizer
    >>> stream = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None).decoder()
    >>> [stream.push(token) for token in "né".encode()], stream.push([33, 63]), stream.finish()
    (['n', '', 'é'], '!?', '')
    """

    def __init__(self, decoder: Decoder, errors: str) -> None:
        self._decoder = decoder
        self._pending = codecs.getincrementaldecoder("utf-8")(errors)

    def push(self, ids: SupportsIndex | Sequence[int] | Buffer) -> str:
        """The text that an id, or a sequence of ids, completes; "" if it is not yet known.

        Raises InvalidTokenError (a KeyError) for an id that is no token; the stream is then as it was before.
        """
        try:
            tokens = [self._decoder.token(operator.index(ids))]  # type: ignore[arg-type]
        except TypeError:
            tokens = self._decoder.tokens(ids)  # type: ignore[arg-type]
        if all(tokens):
            return self._pending.decode(b"".join(tokens))
        # Bytes on both sides of a token that is no text make no character together.
        return "".join([self._pending.decode(token, final=not token) for token in tokens])

    def finish(self) -> str:
        """The text of bytes kept back, which now never become a character; the next `push` begins anew."""
        text = self._pending.decode(b"", final=True)
        self._pending.reset()
        return text


def _with_tokens(decoder: Decoder, ids: SupportsIndex | Sequence[int] | Buffer) -> list[tuple[int, bytes]]:
    """An id, or each of a sequence, with its token; InvalidTokenError before anything is done with them."""
    try:
        listed = [operator.index(ids)]  # type: ignore[arg-type]
    except TypeError:
        listed = list(ids)  # type: ignore[arg-type]
    return [(token_id, decoder.token(token_id)) for token_id in listed]


class CodePointStreamDecoder(StreamDecoder):
    """The same for code points: the spaces that a text does not begin with, and control symbols, are left out.

    leading, whole: as of a Decoder.
    """

    def __init__(self, decoder: Decoder, errors: str, *, leading: bool | None, whole: frozenset[int]) -> None:
        super().__init__(decoder, errors)
        self._leading = leading
        self._whole = whole
        self._is_start = leading is not None

    def push(self, ids: SupportsIndex | Sequence[int] | Buffer) -> str:
        """As `StreamDecoder.push`."""
        return "".join([self._add(*item) for item in _with_tokens(self._decoder, ids)])

    def finish(self) -> str:
        """As `StreamDecoder.finish`."""
        self._is_start = self._leading is not None
        return super().finish()

    def _add(self, token_id: int, token: bytes) -> str:
        if not token:  # a control symbol: bytes before and behind it make no character together
            return super().finish()
        if self._is_start:
            has_space = token.startswith(b" ") and token_id not in self._whole
            token = token[1:] if has_space else token
            self._is_start = bool(self._leading) and has_space and not token
        return self._pending.decode(token)


class RunStreamDecoder(StreamDecoder):
    """The same for a tokenizer.json of code points, as tokenizers decodes.

    Of ids of bytes in a row, a character is given out when it is whole; from the first on that is no part of one,
    each id is a U+FFFD.
    """

    def __init__(self, decoding: Decoding) -> None:
        super().__init__(decoding.decoder, "strict")
        self._decoding = decoding
        self._begin()

    def _begin(self) -> None:
        self._is_start = True
        self._run = b""  # bytes kept back
        self._is_broken = False

    def push(self, ids: SupportsIndex | Sequence[int] | Buffer) -> str:
        """As `StreamDecoder.push`."""
        return "".join([self._add(*item) for item in _with_tokens(self._decoder, ids) if item[1]])

    def finish(self) -> str:
        """As `StreamDecoder.finish`."""
        text = self._first("\ufffd" * len(self._run))
        self._begin()
        return text

    def _add(self, token_id: int, token: bytes) -> str:
        if token_id in self._decoding.bytes:
            return self._first(self._add_byte(token))
        text = "\ufffd" * len(self._run)
        self._run, self._is_broken = b"", False
        if self._is_start and not text and token_id in self._decoding.firsts:
            self._is_start = False
            return self._decoding.firsts[token_id].decode()
        return self._first(text + token.decode())

    def _add_byte(self, byte: bytes) -> str:
        if not self._is_broken:
            self._run += byte
            try:
                text = self._run.decode()
            except UnicodeDecodeError as error:
                if error.reason == "unexpected end of data":
                    return ""
                self._is_broken = True
                text = "\ufffd" * len(self._run)
            self._run = b""
            return text
        return "\ufffd"

    def _first(self, text: str) -> str:
        """Text as it is given out: at the beginning without a space."""
        if not self._is_start or not text:
            return text
        self._is_start = False
        return text[1:] if self._decoding.strips and text[0] == " " else text
