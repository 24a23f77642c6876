"""Decoding ids as they come, without ever giving out half a character."""

from __future__ import annotations

import codecs
import operator
from collections.abc import Sequence
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
            token = operator.index(ids)  # type: ignore[arg-type]
        except TypeError:
            return self._pending.decode(self._decoder.decode_bytes(ids))  # type: ignore[arg-type]
        return self._pending.decode(self._decoder.token(token))

    def finish(self) -> str:
        """The text of bytes kept back, which now never become a character; the next `push` begins anew."""
        text = self._pending.decode(b"", final=True)
        self._pending.reset()
        return text
