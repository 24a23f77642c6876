"""Documents of text: a whole stream, or the text between separators. Long documents come in parts."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import IO, Any

from fastbpe._core.text.json_lines import n_newlines
from fastbpe._core.text.separated_texts import SeparatedTexts
from fastbpe._core.text.utf8_text import n_valid
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.corpus.compression import ReadAhead
from fastbpe.corpus.json_documents import Lines
from fastbpe.corpus.source_kinds import CONVERT, Document, Skip
from fastbpe.errors import FormatError


class Stretch(NamedTuple):
    """Consecutive documents of a file, or a part of a long document.

    texts: the documents, or a block that contains them. The first may continue the last document of the previous
        stretch.
    ends: bool – whether the last document ends here; False: it continues in the next stretch.
    offset: int – position after them: bytes of the decompressed file, or rows of a table; 0 after an empty file.
    n_stored: int – bytes of the stored (possibly compressed) file that were read up to there; of a `FilePart`,
        bytes or rows of its content.
    """

    texts: Sequence[Document] | TextBlock | Lines
    ends: bool
    offset: int
    n_stored: int

    def documents(self) -> Sequence[Document]:
        """Return the documents. Raises FormatError if a block cannot be read."""
        return self.texts.texts() if isinstance(self.texts, (TextBlock, Lines)) else self.texts


class TextBlock:
    """Block of a text file, which is divided into documents when the caller asks for them.

    Args:
        load: function that returns the n_bytes bytes of the block.
        where, offset: the file, and the position of the block in it, for errors.
        n_lines: function that returns the number of line feeds before the block, for errors.
        separator: bytes or None – bytes after each document; b"\\n" also drops a "\\r" before it. None: the block
            is one document.
        skip: function to call with the error for each document that is not UTF-8; None: raise the error.

    The attribute `skip` may be replaced before the block is read.
    """

    def __init__(
        self,
        load: Callable[[], bytes],
        n_bytes: int,
        where: object,
        *,
        offset: int,
        n_lines: Callable[[], int],
        separator: bytes | None,
        skip: Skip | None,
    ) -> None:
        self._load, self.n_bytes, self._where = load, n_bytes, where
        self._offset, self._n_lines, self.separator, self.skip = offset, n_lines, separator, skip

    def separated(self) -> SeparatedTexts | None:
        """Return a reader of the documents; None if the block is one document, or not UTF-8: then call `texts`."""
        if self.separator is None:
            return None
        data = self._load()
        return SeparatedTexts(data, self.separator) if n_valid(data) == len(data) else None

    def texts(self) -> list[Document]:
        """Read the block, check it and return its documents; with `skip` and a separator, only the valid ones.

        Raises:
            FormatError: a byte is not UTF-8, and `skip` or the separator is None.
        """
        data, separator = self._load(), self.separator
        n_whole = n_valid(data)
        if n_whole < len(data):
            if self.skip is None or separator is None:
                raise self._error(data, n_whole)
            return self._without_bad(data, separator)
        if separator is None:
            return [data]
        texts = data.split(separator)
        rest = texts.pop()
        if separator == b"\n" and b"\r" in data:
            texts = [text.removesuffix(b"\r") for text in texts]  # a "\r" at the end of the file is text
        if rest:
            texts.append(rest)
        return list(texts)

    def _without_bad(self, data: bytes, separator: bytes) -> list[Document]:
        """Skip the documents that are not UTF-8."""
        assert self.skip is not None
        kept: list[Document] = []
        *texts, rest = data.split(separator)
        at = 0
        for text in [*texts, rest] if rest else texts:
            ends_at = at + len(text)
            if (n := n_valid(text)) < len(text):
                self.skip(self._error(data, at + n))
            else:
                is_line = separator == b"\n" and ends_at < len(data)
                kept.append(text.removesuffix(b"\r") if is_line else text)
            at = ends_at + len(separator)
        return kept

    def _error(self, data: bytes, at: int) -> FormatError:
        line = self._n_lines() + n_newlines(data[:at]) + 1
        return FormatError(
            f"{self._where}:{line}: not UTF-8: invalid byte 0x{data[at]:02x} at offset {self._offset + at}; "
            + CONVERT
        )


class AvailableBytes:
    """Stream whose reads of up to `block` bytes return what has arrived; larger reads wait for all bytes."""

    def __init__(self, file: Any, block: int) -> None:
        self._file, self._block = file, block

    def read(self, n: int) -> bytes:
        """Return one byte or more; b"" at the end."""
        data: bytes = self._file.read1(n) if n <= self._block else self._file.read(n)
        return data


class ReplacedUtf8:
    """Stream of valid UTF-8: an error handler of `codecs` replaces invalid bytes of another stream."""

    def __init__(self, file: IO[bytes] | ReadAhead, errors: str) -> None:
        self._file, self._errors = file, errors
        self._rest = b""  # the incomplete character at the end of the last block

    def read(self, n: int) -> bytes:
        """Return one byte or more; b"" at the end."""
        text = ""
        while not text:
            block = self._file.read(n)
            data = self._rest + block
            text, n_used = codecs.utf_8_decode(data, self._errors, not block)
            self._rest = data[n_used:]
            if not block:
                break
        return text.encode()
