"""Parts of a file of documents, each from the start of one document to the start of another.

A `FilePart` is used like the path of a smaller file that contains only this part. `cuts` moves positions in a file
forward to the next start of a document. The result depends only on the file and the position, and the order of
positions is kept, so machines that process neighbouring parts agree on the position between them.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, cast

from fastbpe._utils.file_statuses import adding_filename
from fastbpe.corpus.compression import open_unpacked, skip
from fastbpe.corpus.document_formats import BOM, TABLES
from fastbpe.corpus.remote import AnyPath, Stat, absolute

_BLOCK = 1 << 20  # bytes read at a time
_BACK = 1 << 20  # bytes before a position that are searched for the last position that no separator can span


class FilePart(os.PathLike[str]):
    """A part of a file, with the methods of a path that reading documents needs.

    Args:
        format, packing: as in `document_files`.
        start, end: positions in its decompressed content, in bytes; or rows, if it is a table.
        density: bytes of the stored file for each byte or row of its content, on average.
    """

    def __init__(
        self, whole: AnyPath, format: str, packing: str, start: int, end: int, density: float = 1.0
    ) -> None:
        self.whole, self.format, self.packing, self.start, self.end = whole, format, packing, start, end
        self._density = density
        self.name = whole.name

    @property
    def is_table(self) -> bool:
        """Tell whether positions are rows, so that pyarrow opens the file itself."""
        return self.format in TABLES

    def __str__(self) -> str:
        return f"{self.whole}{f' from byte {self.start} on' if self.start and not self.is_table else ''}"

    def __fspath__(self) -> str:
        return os.fspath(self.whole)

    @property
    def address(self) -> str:
        """Absolute path or URL of the file, together with the part."""
        return f"{absolute(self.whole)}[{self.start}:{self.end}]"

    def stat(self) -> Stat:
        """Return the size of the part (bytes or rows), and the modification time or version of the file."""
        return Stat(self.end - self.start, self.whole.stat().st_mtime_ns)

    def stored(self, n: int) -> int:
        """Return about how many bytes of the stored file n bytes or rows of the part take."""
        return int(n * self._density)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open the part for reading bytes."""
        return cast("IO[bytes]", io.BufferedReader(_PartStream(self), _BLOCK))


class _PartStream(io.RawIOBase):
    """Stream of the bytes of a part. It can seek if the file is not compressed."""

    def __init__(self, part: FilePart) -> None:
        self._opened = unpacked(part.whole, part.packing)
        self._file = self._opened.__enter__()
        self._can_seek, self._start, self._n, self._at = not part.packing, part.start, part.end - part.start, 0
        skip(self._file, part.start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._can_seek

    def readinto(self, buffer: Any) -> int:
        # max: a position to resume from may lie behind the end, if progress.json is damaged.
        data = self._file.read(max(min(len(buffer), self._n - self._at), 0))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._n)[whence]
        self._file.seek(self._start + self._at)
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            self._opened.__exit__(None, None, None)
        super().close()


def stored_size(path: AnyPath | FilePart) -> int:
    """Return the size of a stored file in bytes; of a part, about how many of these bytes it takes."""
    return path.stored(path.end - path.start) if isinstance(path, FilePart) else path.stat().st_size


@contextlib.contextmanager
def unpacked(path: AnyPath, packing: str) -> Iterator[IO[bytes]]:
    """Open a file as a stream of its decompressed content."""
    with adding_filename(path), path.open("rb") as stored, open_unpacked(stored, path, packing) as file:
        yield cast("IO[bytes]", file)


def unpacked_size(path: AnyPath, packing: str) -> int:
    """Count the bytes of a file's decompressed content; reads a compressed file to its end."""
    if not packing:
        return path.stat().st_size
    n = 0
    with unpacked(path, packing) as file:
        while block := file.read(_BLOCK):
            n += len(block)
    return n


def cuts(path: AnyPath, packing: str, separator: bytes, places: Sequence[int], size: int) -> list[int]:
    """Move positions in a file of text or JSON lines forward to the starts of documents.

    The first document begins at 0, another after each separator. A separator that overlaps itself, such as two
    line feeds, is found from the left, as by bytes.split. A document that begins with a byte-order mark stays with
    the one before it, because at the start of a part the mark would not be read as text.

    Args:
        separator: bytes that end each document.
        places: positions in the decompressed content, in bytes; `size` is its length.

    Returns:
        For each position other than 0 and `size`, the start of the first document after it, or `size`. A document
        that begins exactly there counts only if the search must begin earlier, because separators may overlap.
    """
    return [_cut(path, packing, separator, place, size) if 0 < place < size else place for place in places]


def _cut(path: AnyPath, packing: str, separator: bytes, place: int, size: int) -> int:
    n = len(separator)
    certain = place if n == 1 else _certain(path, packing, separator, place)  # a single byte spans no position
    with unpacked(path, packing) as file:
        skip(file, certain)
        data, at = b"", certain
        while block := file.read(_BLOCK):
            data += block
            start = 0
            while (found := data.find(separator, start)) >= 0:
                start = found + n
                if len(data) - start < len(BOM):
                    data += file.read(len(BOM))
                if at + start >= place and not data.startswith(BOM, start):
                    return at + start
            kept = max(len(data) - n + 1, start)  # the last n - 1 bytes may begin a separator
            data, at = data[kept:], at + kept
    return size


def _certain(path: AnyPath, packing: str, separator: bytes, place: int) -> int:
    """Return the last position up to `place` that no separator can span; 0 if the last megabyte contains none."""
    n = len(separator)
    first = max(place - _BACK, 0)
    with unpacked(path, packing) as file:
        skip(file, first)
        data = file.read(place - first + n)
    certain = place
    while certain:
        if certain - n + 1 < first:
            return 0  # a megabyte of separators that overlap: they are counted from the left
        # a separator that begins before `certain` and ends after it
        found = data.find(separator, certain - n + 1 - first, certain - 1 + n - first)
        if found < 0:
            break
        certain = first + found
    return certain
