"""Files that several threads read at the same time, at different positions, and line numbers in them."""

from __future__ import annotations

import os
import stat
import threading
from bisect import bisect_right
from pathlib import Path

from fastbpe._core.text.json_lines import n_newlines
from fastbpe._utils.file_statuses import adding_filename
from fastbpe.corpus.document_files import opened
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.remote import AnyPath
from fastbpe.errors import FormatError

_COUNT_BYTES = 1 << 20  # bytes read at a time to count lines


class OpenFile:
    """Regular file of this machine, or a part of one, open for reading at any position.

    Several threads may read at the same time. The file is closed when nothing refers to the object, or by `close`.

    start, size: the part, in bytes; positions are relative to its start.
    """

    def __init__(self, path: Path, start: int, size: int) -> None:
        self._path, self._start, self.size = path, start, size
        self._lock = threading.Lock()
        self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self.close()

    def close(self) -> None:
        """Close the file. No thread may be reading it, and none can read it afterwards."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def read(self, start: int, n: int) -> bytes:
        """Return n bytes from a position on.

        Raises:
            FormatError: the file has become shorter.
        """
        position = self._start + start
        data = self._read_at(position, n)
        while len(data) < n:  # a system may return fewer bytes, such as at most 2 GB
            rest = self._read_at(position + len(data), n - len(data))
            if not rest:
                raise FormatError(
                    f"{self._path}: the file now ends at byte {position + len(data)}, but was longer when reading "
                    "began; read it while nothing writes to it"
                )
            data += rest
        return data

    def _read_at(self, at: int, n: int) -> bytes:
        with adding_filename(self._path):
            if hasattr(os, "pread"):
                return os.pread(self._fd, n, at)
            with self._lock:  # Windows moves the position that all threads share
                os.lseek(self._fd, at, os.SEEK_SET)
                return os.read(self._fd, n)


def open_file(path: AnyPath | FilePart) -> OpenFile | None:
    """Open an uncompressed file for reading at any position.

    Returns None if it is remote or not a regular file, or a part of a compressed file.
    """
    whole = path.whole if isinstance(path, FilePart) else path
    if not isinstance(whole, Path) or (isinstance(path, FilePart) and path.packing):
        return None
    facts = os.stat(whole)
    if not stat.S_ISREG(facts.st_mode):
        return None
    if isinstance(path, FilePart):
        return OpenFile(whole, path.start, path.end - path.start)
    return OpenFile(whole, 0, facts.st_size)


class LinesBefore:
    """Counter of the lines before a position of a file. Only errors need it, so the file is opened again."""

    def __init__(self, path: AnyPath | FilePart) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known = [(0, 0)]  # (position, line ends before it), in ascending order, at least _COUNT_BYTES apart

    def __call__(self, position: int) -> int:
        """Return the number of line feeds before a position of the decompressed content."""
        with self._lock:
            # At most `position` lines end before it, so its own entry is not above this key.
            at, n = self._known[bisect_right(self._known, (position, position)) - 1]
            with opened(self._path, "text", "") as content:
                assert content.file is not None
                content.file.skip_to(at)
                while at < position and (data := content.file.read(min(_COUNT_BYTES, position - at))):
                    at += len(data)
                    n += n_newlines(data)
            if at >= self._known[-1][0] + _COUNT_BYTES:
                self._known.append((at, n))
            return n
