"""Streams that encode text as it arrives: `Tokenizer.encoder`.

The stream holds back the text after the last cut; no later text changes the ids before it (`stream_cuts` says
why). The two characters next to a position decide whether it is a cut, so each push examines only the new text.
"""

from __future__ import annotations

from typing import NoReturn

from fastbpe._core.encode.text_cuts import encode_part
from fastbpe._core.text.utf8_text import plain
from fastbpe._utils.short_reprs import short_repr
from fastbpe.tokenizer.streams.stream_cuts import BEFORE, GrowingText


class StreamEncoder(GrowingText):
    """Stream that turns text into ids as it arrives. `Tokenizer.encoder` creates it.

    Only one thread may use a stream at a time. `copy.copy` returns an independent stream that continues the same
    text. A stream cannot be pickled.
    """

    def __copy__(self) -> StreamEncoder:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _held=[*self._held])
        return made

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a StreamEncoder cannot be pickled: pickle its Tokenizer and the text so far, and push the text into "
            "a new encoder()"
        )

    def _reset(self) -> None:
        self._held: list[str] = []  # text without ids yet
        self._end = ""  # last characters of the text so far: a special token or a cut may begin there
        self._partial = b""  # bytes of a character that is not complete
        self._is_first = True  # nothing was encoded yet
        self._after_fused = False

    def __repr__(self) -> str:
        """Show how much text has no ids yet."""
        held = "".join(self._held)
        partial = f" and {self._partial!r} of a character" if self._partial else ""
        return f"<fastbpe.StreamEncoder that holds {short_repr(held) if held else 'no text'}{partial}>"

    def push(self, text: str | bytes) -> list[int]:
        """Add text, and return the ids that no later text can change. An error leaves the stream unchanged.

        Args:
            text: str, or bytes of UTF-8. It may end within a character's bytes, or between two surrogates.

        Raises:
            SpecialTokenError (a ValueError): the text so far contains a disallowed special token.
            ValueError: the bytes are not UTF-8, or a str follows half a character.
            TypeError: the text is not str or bytes.
        """
        new, partial = self._decoded(text)
        if self._disallowed is not None:
            self._refuse(self._end + new)
        cut = self._cut(new)
        ids: list[int] = []
        if cut is None:
            self._held.append(new)
        else:
            before = "" if self._is_first else BEFORE
            held = "".join([before, *self._held])
            whole = held + new
            cut += len(held)
            ids, self._after_fused = encode_part(
                self._pipeline, whole, len(before), cut, self._allowed, self._after_fused
            )
            self._held = [whole[cut:]]
            self._is_first = False
        self._end = (self._end + new if len(new) < self._overlap else new)[-self._overlap :]
        self._partial = partial
        return ids

    def finish(self) -> list[int]:
        """Return the ids of the rest, and start a new text.

        Raises ValueError, and leaves the stream unchanged, if the bytes end within a character.
        """
        if self._partial:
            raise ValueError(
                f"the text ends within a character: {self._partial!r}; first push the other bytes of this "
                "character"
            )
        before = "" if self._is_first else BEFORE
        whole = "".join([before, *self._held])
        ids, _ = encode_part(self._pipeline, whole, len(before), len(whole), self._allowed, self._after_fused)
        self._reset()
        return ids

    def _decoded(self, text: str | bytes) -> tuple[str, bytes]:
        """Return text as str, and the bytes at its end that begin a character. Raises the errors of `push`."""
        if isinstance(text, str):
            if self._partial:
                raise ValueError(
                    f"a str follows bytes that end within a character: {self._partial!r}; first push the other "
                    "bytes of this character"
                )
            return plain(text), b""
        if not isinstance(text, (bytes, bytearray, memoryview)):
            raise TypeError(f"text must be str or bytes, not {type(text).__name__}")
        data = self._partial + bytes(plain(text))
        try:
            return data.decode(), b""
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                raise
            return data[: error.start].decode(), data[error.start :]

    def _cut(self, new: str) -> int | None:
        """Find the last cut, as an index into the new text; None without a cut.

        A cut at 0 is next to the last character of the earlier text. The new text, which may be long, is not
        copied.
        """
        if self._near is None or not new:
            return None
        if len(new) > 1 and (cut := self._near(new, 0, len(new) - 1)) < len(new):
            return cut
        around = self._end[-1:] + new[:1]
        return 0 if len(around) == 2 and self._near(around, 0, 1) == 1 else None
