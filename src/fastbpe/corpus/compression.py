"""Streams of the unpacked content of .gz and .zst files."""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, cast

from fastbpe._utils.optional_imports import require_zstandard
from fastbpe.corpus.remote import AnyPath
from fastbpe.errors import FormatError

PACKINGS = (".gz", ".zst")

_READ_BYTES = 1 << 20  # bytes read at a time
_MAX_ZSTD_WINDOW = 1 << 31  # bytes; zstandard refuses windows over 128 MB unless told otherwise
# Frames of zstd (RFC 8878, section 3.1):
_FRAME_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A5  # upper 28 of the 32 bits
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)  # by bits 0 and 1 of the frame's descriptor
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)  # by its bits 6 and 7
_RLE_BLOCK = 1  # type of a block that stores one byte and how often to repeat it


@contextlib.contextmanager
def open_unpacked(path: AnyPath, packing: str) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a file as a stream of its unpacked content.

    Args:
        path: the file.
        packing: str – one of PACKINGS, or "" for a file that is not packed.

    Returns:
        A context of (stream, function that returns how many bytes of the packed file were read so far).

    Raises:
        FormatError: the file is damaged; also within the context, as soon as reading meets the damage.
        ImportError: zstandard is not installed.
        OSError: the file cannot be opened.
    """
    with path.open("rb") as stored:
        if packing == ".zst":
            with _zstd_stream(stored, path) as file:
                yield file, stored.tell
        elif packing == ".gz":
            try:
                if not stored.read(1):
                    raise EOFError("it is empty")
                stored.seek(0)
                with gzip.GzipFile(fileobj=stored) as unpacked:
                    yield cast("IO[bytes]", unpacked), stored.tell
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise FormatError(f"{path}: damaged gzip file: {error}; get it again") from None
        else:
            yield stored, stored.tell


def skip(file: IO[bytes], n: int) -> None:
    """Move a stream n bytes forward, by reading if it cannot seek."""
    if file.seekable() and not isinstance(file, gzip.GzipFile):
        file.seek(n, os.SEEK_CUR)
        return
    while n and (block := file.read(min(n, _READ_BYTES))):
        n -= len(block)


@contextlib.contextmanager
def _zstd_stream(stored: IO[bytes], path: AnyPath) -> Iterator[IO[bytes]]:
    zstandard = require_zstandard(path)
    if not _is_whole(stored):
        raise FormatError(f"{path}: damaged zstd file: it ends too early; get it again")
    stored.seek(0)
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW)
    try:
        with unpacker.stream_reader(stored, read_size=_READ_BYTES, read_across_frames=True) as unpacked:
            yield cast("IO[bytes]", unpacked)
    except zstandard.ZstdError as error:
        raise FormatError(f"{path}: damaged zstd file: {error}; get it again") from None


def _is_whole(file: IO[bytes]) -> bool:
    """Tell whether a zstd file ends with a frame; the package zstandard reads a truncated one without an error.

    Reads only the headers of frames and blocks, and seeks over the content. Damage elsewhere and bytes that are no
    frame are left for unpacking to report.
    """
    size = file.seek(0, os.SEEK_END)
    at = file.seek(0)

    def number(n: int) -> int:
        """Read the n bytes at `at`, little-endian, and move past them."""
        nonlocal at
        at += n
        return int.from_bytes(file.read(n), "little")

    while at < size:
        magic = number(4)
        if magic >> 4 == _SKIPPABLE_MAGIC:
            at += number(4)
        elif magic == _FRAME_MAGIC:
            descriptor = number(1)
            single_segment = descriptor >> 5 & 1
            n_content_size = _CONTENT_SIZE_BYTES[descriptor >> 6] or single_segment
            at = file.seek(at + 1 - single_segment + _DICTIONARY_ID_BYTES[descriptor & 3] + n_content_size)
            last = False
            while not last and at < size:
                block = number(3)
                last = bool(block & 1)
                at = file.seek(at + (1 if block >> 1 & 3 == _RLE_BLOCK else block >> 3))
            at += 4 * (descriptor >> 2 & 1)
            if not last:
                return False
        else:
            return at <= size
        file.seek(at)
    return 0 < size == at
