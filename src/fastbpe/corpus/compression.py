"""Streams of the decompressed content of .gz and .zst files, recognised by name or by their first bytes."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Collection, Iterator
from typing import IO, Any, cast

from fastbpe._utils.optional_imports import require_zstandard
from fastbpe.errors import FormatError

#: Suffix → compression.
PACKINGS = {".gz": ".gz", ".gzip": ".gz", ".zst": ".zst", ".zstd": ".zst"}

HEAD_BYTES = 64  # bytes at the beginning of a file that tell what it is
_READ_BYTES = 1 << 20  # bytes read at a time
MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}  # no UTF-8 text begins with these bytes
_MORE_BYTES = 1 << 12
_MAX_ZSTD_WINDOW = 1 << 31  # bytes; zstandard refuses windows over 128 MB unless told otherwise
_GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
# Frames of zstd (RFC 8878, section 3.1):
_FRAME_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A5  # upper 28 of the 32 bits
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)  # by bits 0 and 1 of the frame's descriptor
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)  # by its bits 6 and 7
_RLE_BLOCK = 1  # type of a block that stores one byte and how often to repeat it


class ReadAhead:
    """Stream whose first bytes can be looked at before they are read.

    `file.read` returns one byte or more, and b"" at the end.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._ahead = b""

    def head(self) -> bytes:
        """Return the bytes that were read ahead; at first these are up to HEAD_BYTES."""
        if not self._ahead:
            self._ahead = self._file.read(HEAD_BYTES)
        return self._ahead

    def more(self) -> bytes:
        """Read further ahead, and return all bytes read ahead; at the end, the same bytes.

        Each call at most doubles the bytes that were read ahead, or adds up to 4096 bytes, if that is more.
        """
        self._ahead += self._file.read(max(len(self._ahead), _MORE_BYTES))
        return self._ahead

    def head_past(self, marks: Collection[bytes]) -> bytes:
        """Return enough of the first bytes to tell whether they begin with one of several marks."""
        head = self.head()
        while any(mark.startswith(head) and mark != head for mark in marks) and len(more := self.more()) > len(
            head
        ):
            head = more
        return head

    def read(self, n: int) -> bytes:
        """Return one byte or more; b"" at the end."""
        if self._ahead:
            data, self._ahead = self._ahead[:n], self._ahead[n:]
            return data
        found: bytes = self._file.read(n)
        return found

    def drop(self, n: int) -> None:
        """Drop the first n of the bytes that were read ahead."""
        self._ahead = self._ahead[n:]

    def skip_to(self, n: int) -> None:
        """Move from the beginning to the position n, by reading if the stream cannot seek."""
        if _can_seek(self._file):
            self._ahead = b""
            self._file.seek(n)
            return
        while n and (block := self.read(min(n, _READ_BYTES))):
            self._ahead = block[n:] + self._ahead  # replaced text may be longer than the bytes asked for
            n -= min(n, len(block))


def skip(file: IO[bytes], n: int) -> None:
    """Move a stream n bytes forward, by reading if it cannot seek."""
    if _can_seek(file):
        file.seek(n, os.SEEK_CUR)
        return
    while n and (block := file.read(min(n, _READ_BYTES))):
        n -= len(block)


def _can_seek(file: Any) -> bool:
    """Tell whether seeking is faster than reading. A .gz must decompress up to the position in both cases."""
    return isinstance(file, io.IOBase) and file.seekable() and not isinstance(file, gzip.GzipFile)


def packing_of(head: bytes) -> str:
    """Return the compression of a file, as ".gz" or ".zst", by its first bytes; "" if it is not compressed."""
    return next((packing for magic, packing in MAGIC.items() if head.startswith(magic)), "")


@contextlib.contextmanager
def open_unpacked(stored: IO[bytes] | ReadAhead, where: object, packing: str) -> Iterator[IO[bytes] | ReadAhead]:
    """Open a file as a stream of its decompressed content.

    stored: the file, at its beginning; .zst must be seekable. packing: ".gz", ".zst", or "" for plain content.

    Raises:
        FormatError: the file is damaged; may also be raised while reading within the context.
        ImportError: zstandard is not installed.
    """
    if packing == ".zst":
        with _zstd_stream(cast("IO[bytes]", stored), where) as file:
            yield file
    elif packing == ".gz":
        try:
            if isinstance(stored, ReadAhead):
                begin = stored.head()
            else:
                begin = stored.read(1)
                stored.seek(0)
            if not begin:
                raise EOFError("it is empty")  # the module gzip takes an empty file for empty content
            with _GzipFile(fileobj=cast("IO[bytes]", stored)) as unpacked:
                yield cast("IO[bytes]", unpacked)
        except _GZIP_ERRORS as error:
            raise FormatError(f"{where}: damaged gzip file: {error}; copy the file again or recreate it") from None
    else:
        yield stored


class _GzipFile(gzip.GzipFile):
    """Stream of a .gz. A read that meets damage returns the bytes before it; the next read raises the error."""

    _error: Exception | None = None

    def read(self, size: int | None = -1) -> bytes:
        """Return `size` bytes, or fewer before damage or the end."""
        if self._error is not None:
            raise self._error
        parts, left = [], -1 if size is None else size
        try:
            while left and (part := self.read1(left)):
                parts.append(part)
                left -= len(part)
        except _GZIP_ERRORS as error:
            if not parts:
                raise
            self._error = error
        return b"".join(parts)


@contextlib.contextmanager
def _zstd_stream(stored: IO[bytes], where: object) -> Iterator[IO[bytes]]:
    zstandard = require_zstandard(str(where))
    if not _is_whole(stored):
        raise FormatError(f"{where}: damaged zstd file: it ends too early; copy the file again or recreate it")
    stored.seek(0)
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW)
    try:
        with unpacker.stream_reader(stored, read_size=_READ_BYTES, read_across_frames=True) as unpacked:
            yield cast("IO[bytes]", unpacked)
    except zstandard.ZstdError as error:
        raise FormatError(f"{where}: damaged zstd file: {error}; copy the file again or recreate it") from None


def _is_whole(file: IO[bytes]) -> bool:
    """Tell whether a zstd file does not end within a frame: the package zstandard reports no error for that.

    Reads only the headers of frames and blocks, and seeks past the content. Decompression reports other damage. It
    also reports bytes that are not a frame, so True is returned for four or more such bytes after a frame.
    """
    size = file.seek(0, os.SEEK_END)
    at = file.seek(0)

    def number(n: int) -> int:
        """Read n bytes at `at` as a little-endian number, and advance."""
        nonlocal at
        at += n
        return int.from_bytes(file.read(n), "little")

    while at < size:
        magic = number(4)
        if magic >> 4 == _SKIPPABLE_MAGIC:
            at = number(4) + at  # in this order: number() advances `at`
        elif magic == _FRAME_MAGIC:
            descriptor = number(1)
            single_segment = descriptor >> 5 & 1  # 1: the header has no byte for the size of the window
            n_content_size = _CONTENT_SIZE_BYTES[descriptor >> 6] or single_segment
            at = file.seek(at + 1 - single_segment + _DICTIONARY_ID_BYTES[descriptor & 3] + n_content_size)
            last = False
            while not last and at < size:
                block = number(3)
                last = bool(block & 1)
                at = file.seek(at + (1 if block >> 1 & 3 == _RLE_BLOCK else block >> 3))
            at += 4 * (descriptor >> 2 & 1)  # a checksum
            if not last:
                return False
        else:
            return at <= size
        file.seek(at)
    return 0 < size == at
