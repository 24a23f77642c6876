"""Documents of text: a whole stream, or the parts between separators; in parts where they are long."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from fastbpe._core.text.utf8_text import n_valid
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.corpus.compression import ReadAhead
from fastbpe.corpus.json_documents import Lines
from fastbpe.corpus.source_kinds import CONVERT, Cut, Document, Skip
from fastbpe.errors import FormatError


class Stretch(NamedTuple):
    """Consecutive documents of a file, or a part of a document that is too long to hold.

    texts: the documents. The first may be the rest of a document that the previous stretch began.
    ends: bool – the last document ends with its text; False: the next stretch has more of it.
    offset: int – position after them: bytes of the unpacked file, or rows of a table.
    number: int – lines or documents of the file that end up to there.
    n_stored: int – bytes of the file (of the packed file, if it is packed) that were read up to there.
    """

    texts: Sequence[Document] | Lines
    ends: bool
    offset: int
    number: int
    n_stored: int


class TextDocuments:
    """Reader of the documents of a stream of text.

    Args:
        file: the stream, at `offset`.
        where: the file, for errors.
        separator: bytes or None – bytes after each document; b"\\n" takes a "\\r" before it along. None: the
            stream is one document.
        cut: finds the places between the parts of a long document; None: it is held whole.
        n_stored: returns the bytes of the packed file that were read so far.
        block: int – bytes read at a time.
        offset: int – position of the stream, in unpacked bytes.
        number: int – documents before it.
        skip: called with the error of each document between separators that is not UTF-8; None: raise the error.
        n_lines: int or None – line ends before `offset`, for errors; None: not known.
    """

    def __init__(
        self,
        file: Any,
        where: object,
        *,
        separator: bytes | None,
        cut: Cut | None,
        n_stored: Callable[[], int],
        block: int,
        offset: int = 0,
        number: int = 0,
        skip: Skip | None = None,
        n_lines: int | None = 0,
    ) -> None:
        self._file, self._where, self._separator = file, where, separator
        self._skip = skip if separator is not None else None
        self._cut = None if self._skip is not None else cut  # a document is left out whole
        self._n_stored, self._block = n_stored, block
        self._offset, self._number, self._n_lines = offset, number, n_lines

    def __iter__(self) -> Iterator[Stretch]:
        data, separator = b"", self._separator
        while True:
            # Double the data each time: a document without a safe cut is copied and checked twice, not n times.
            more = self._file.read(max(self._block, len(data)))
            data += more
            n_whole = n_valid(data)
            bad = not _is_cut_short(data[n_whole:], final=not more)
            if bad and self._skip is None:
                raise self._error(data, n_whole)
            stored = self._n_stored()
            if separator is not None:
                *whole, rest = data.split(separator)
                if whole:
                    n_split = len(data) - len(rest)
                    texts = self._texts(whole, data, bad=bad and n_whole < n_split)
                    self._pass(data, n_split)
                    data = rest
                    n_whole -= n_split
                    yield Stretch(texts, True, self._offset, self._number, stored)
            if not more:
                if data or separator is None:
                    texts = self._texts([data], data, bad=bad and n_valid(data) < len(data), ended=False)
                    yield Stretch(texts, True, self._offset + len(data), self._number, stored)
                return
            if self._cut is not None and len(data) >= self._block:
                at = self._safe_cut(data if n_whole == len(data) else data[:n_whole], len(separator or b"."))
                if at:
                    self._pass(data, at)
                    yield Stretch([data[:at]], False, self._offset, self._number, stored)
                    data = data[at:]

    def _texts(self, texts: list[bytes], data: bytes, *, bad: bool, ended: bool = True) -> list[Document]:
        """Count documents, and skip those that are not UTF-8.

        texts: the documents at the beginning of data, without the separators.
        bad: bool – some are not UTF-8.
        ended: bool – a separator stands behind each; a "\\r" at the end of the file is text.
        """
        self._number += len(texts)
        if bad:
            assert self._separator is not None
            assert self._skip is not None
            kept, at = [], 0
            for text in texts:
                if (n := n_valid(text)) == len(text):
                    kept.append(text)
                else:
                    self._skip(self._error(data, at + n))
                at += len(text) + len(self._separator)
            texts = kept
        if ended and self._separator == b"\n" and b"\r" in data:
            return [text.removesuffix(b"\r") for text in texts]
        return list(texts)

    def _pass(self, data: bytes, n: int) -> None:
        """Move past the first n bytes."""
        self._offset += n
        if self._n_lines is not None:
            self._n_lines += data.count(b"\n", 0, n)

    def _error(self, data: bytes, at: int) -> FormatError:
        """Make the error for a byte that is not UTF-8."""
        n_before = data.count(b"\n", 0, at)
        line = "" if self._n_lines is None else f":{self._n_lines + n_before + 1}"
        return FormatError(
            f"{self._where}{line}: not UTF-8: invalid byte 0x{data[at]:02x} at offset {self._offset + at}; "
            + CONVERT
        )

    def _safe_cut(self, data: bytes, n_separator: int) -> int:
        """Find the last safe cut before bytes that may begin a separator."""
        assert self._cut is not None
        at = self._cut(data)
        while at > max(len(data) - n_separator + 1, 0):
            at = self._cut(data[:at])
        return at


def _is_cut_short(rest: bytes, *, final: bool) -> bool:
    """Tell whether bytes that are no whole character may begin one: there are none, or more bytes follow."""
    try:
        codecs.utf_8_decode(rest[:4], "strict", final)
    except UnicodeDecodeError:
        return False
    return True


class AvailableBytes:
    """Stream whose reads of up to `block` bytes return the bytes that have arrived; larger reads wait for all."""

    def __init__(self, file: Any, block: int) -> None:
        self._file, self._block = file, block

    def read(self, n: int) -> bytes:
        """Return one byte or more; b"" at the end."""
        data: bytes = self._file.read1(n) if n <= self._block else self._file.read(n)
        return data


class ReplacedUtf8:
    """Stream of UTF-8, made by an error handler of `codecs` from a stream that may hold other bytes."""

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
