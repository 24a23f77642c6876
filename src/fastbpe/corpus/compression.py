"""Files packed as .gz or .zst, as streams of what they hold."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

from fastbpe._utils.optional_imports import require_zstandard
from fastbpe.errors import FormatError

PACKINGS = (".gz", ".zst")

_READ = 1 << 20
_FRAME, _SKIPPABLE = 0xFD2FB528, 0x184D2A5  # the latter in the upper 28 bits
_N_DICTIONARY, _N_CONTENT_SIZE = (0, 1, 2, 4), (0, 2, 4, 8)
_REPEATED = 1  # the type of a block that holds one byte, to be repeated


@contextlib.contextmanager
def open_unpacked(path: Path, packing: str) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """A file as a stream of what it holds, and how many bytes of it as stored were read so far.

    Raises FormatError where the file turns out to be damaged, also within the context.
    """
    with open(path, "rb") as stored:
        if packing == ".zst":
            with _zstd_stream(stored, path) as file:
                yield file, stored.tell
        elif packing == ".gz":
            try:
                if not os.fstat(stored.fileno()).st_size:
                    raise EOFError("it is empty")
                with gzip.GzipFile(fileobj=stored) as unpacked:
                    yield cast("IO[bytes]", unpacked), stored.tell
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise FormatError(f"{path}: damaged gzip file: {error}; get it again") from None
        else:
            yield stored, stored.tell


def skip(file: IO[bytes], n: int) -> None:
    """Go n bytes on."""
    if file.seekable() and isinstance(file, io.BufferedReader):
        file.seek(n, os.SEEK_CUR)
        return
    while n and (block := file.read(min(n, _READ))):
        n -= len(block)


@contextlib.contextmanager
def _zstd_stream(stored: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    zstandard = require_zstandard(path)
    if not _is_whole(stored):
        raise FormatError(f"{path}: damaged zstd file: it ends too early; get it again")
    stored.seek(0)
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    try:
        with unpacker.stream_reader(stored, read_size=_READ, read_across_frames=True) as unpacked:
            yield cast("IO[bytes]", unpacked)
    except zstandard.ZstdError as error:
        raise FormatError(f"{path}: damaged zstd file: {error}; get it again") from None


def _is_whole(file: IO[bytes]) -> bool:
    """Whether a zstd file ends where a frame does: zstandard takes one that was cut off for a whole one.

    Goes from block to block by their headers (RFC 8878), some 100 KB at a step; whether the blocks are sound, and
    what is no frame, unpacking will tell.
    """
    size = file.seek(0, os.SEEK_END)
    at = file.seek(0)

    def number(n: int) -> int:
        nonlocal at
        at += n
        return int.from_bytes(file.read(n), "little")

    while at < size:
        magic = number(4)
        if magic >> 4 == _SKIPPABLE:
            at += number(4)
        elif magic == _FRAME:
            descriptor = number(1)
            single_segment = descriptor >> 5 & 1
            n_content_size = _N_CONTENT_SIZE[descriptor >> 6] or single_segment
            at = file.seek(at + 1 - single_segment + _N_DICTIONARY[descriptor & 3] + n_content_size)
            last = False
            while not last and at < size:
                block = number(3)
                last = bool(block & 1)
                at = file.seek(at + (1 if block >> 1 & 3 == _REPEATED else block >> 3))
            at += 4 * (descriptor >> 2 & 1)
            if not last:
                return False
        else:
            return at <= size
        file.seek(at)
    return 0 < size == at
