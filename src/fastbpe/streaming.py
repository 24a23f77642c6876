"""Decoding ids as they come, without ever giving out half a character."""

from __future__ import annotations

import codecs
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, SupportsIndex

from fastbpe.model import Buffer

if TYPE_CHECKING:
    from fastbpe._core.decoder import Decoder


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
        return self._text(tokens)

    def _text(self, tokens: list[bytes]) -> str:
        if all(tokens):
            return self._pending.decode(b"".join(tokens))
        # Bytes on both sides of a token that is no text make no character together.
        return "".join([self._pending.decode(token, final=not token) for token in tokens])

    def finish(self) -> str:
        """The text of bytes kept back, which now never become a character; the next `push` begins anew."""
        text = self._pending.decode(b"", final=True)
        self._pending.reset()
        return text


class CodePointStreamDecoder(StreamDecoder):
    """The same for code points, where the beginning of a text loses the space that encoding put there.

    trims: whether it loses all spaces. change: what is done to a whole text; with it, `finish` gives all.
    """

    def __init__(self, decoder: Decoder, errors: str, *, trims: bool, change: Callable[[str], str] | None) -> None:
        super().__init__(decoder, errors)
        self._trims = trims
        self._change = change
        self._kept: list[str] = []
        self._at_start = True

    def push(self, ids: SupportsIndex | Sequence[int] | Buffer) -> str:
        """As `StreamDecoder.push`."""
        try:
            listed = [operator.index(ids)]  # type: ignore[arg-type]
        except TypeError:
            listed = ids if isinstance(ids, (str, bytes)) else list(ids)  # type: ignore[arg-type, assignment]
        tokens = self._decoder.tokens(listed)
        for i, token in enumerate(tokens):
            if not self._at_start:
                break
            tokens[i] = self._decoder.decode_bytes(listed[i : i + 1])
            self._at_start = not tokens[i] and (self._trims or not token)
        return self._given(self._text(tokens))

    def finish(self) -> str:
        """As `StreamDecoder.finish`."""
        text = self._given(super().finish())
        if self._change is not None:
            text = self._change("".join(self._kept))
        self._kept, self._at_start = [], True
        return text

    def _given(self, text: str) -> str:
        if self._change is None:
            return text
        self._kept.append(text)
        return ""
