"""Counts that exceed their memory limit: written to temporary files, and added up at the end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from threading import Lock
from typing import IO

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import add_records, write_parts
from fastbpe._core.train.piece_table import PieceTable

# minimum bytes of a thread's table; with fewer, the thread would spend its time on spilling
MIN_TABLE_BYTES = 1 << 18
# A file holds, unsorted, the pieces whose hashes begin with the same bits. So a table for one file at a time can
# add up its counts, as fast as text is counted.
# Tried and rejected: sorted runs with a k-way merge, which is slower, since it sorts each run and then compares
# piece by piece.
_HASH_BITS = 6  # bits of the hash that choose the file: 64 files, each with 1/64 of the pieces
_READ_BYTES = 1 << 20  # bytes read from a file at a time


class Spill:
    """Temporary files for the tables of several threads; `close` removes them.

    If the system allows it, the files have no names, so that they vanish however the process ends.

    Args:
        hash_bits: number of bits of a piece's hash that choose its file: there are 2**hash_bits files.
    """

    def __init__(self, hash_bits: int = _HASH_BITS) -> None:
        self._hash_bits = hash_bits
        self._files: dict[int, IO[bytes]] = {}
        self._seed = int.from_bytes(os.urandom(8), "little")
        self._lock = Lock()

    def __call__(self, table: PieceTable) -> None:
        """Write all pieces of a table to the files and empty it. Safe to call from several threads.

        Raises:
            OSError: the files cannot be written.
        """
        with self._lock:
            write_parts(table, self._hash_bits, self._seed, self._write)
        table.clear()

    def total(self) -> PieceCounter:
        """Add up the written counts, file by file, and remove the files."""
        total = PieceCounter(Splitter())
        for part in self.parts():
            total.append(part)
        return total

    def parts(self) -> Iterator[PieceCounter]:
        """Add up the written counts, file by file, and remove the files.

        Yields:
            A table with the pieces of one file; it is emptied before the next one. No piece is in two files.
        """
        part = PieceCounter(Splitter())
        for number in sorted(self._files):
            with self._files.pop(number) as file:
                file.seek(0)
                rest = b""
                while block := file.read(max(_READ_BYTES, len(rest))):
                    rest += block
                    rest = rest[add_records(part, rest) :]
            yield part
            part.clear()

    def close(self) -> None:
        """Remove the files."""
        while self._files:
            # close() may report a full disk, but the records are not needed any more
            with contextlib.suppress(OSError):
                self._files.popitem()[1].close()

    def is_used(self) -> bool:
        """Tell whether any table was written."""
        return bool(self._files)

    def _write(self, part: int, records: bytes) -> None:
        import tempfile  # imported here: the import is slow, and few runs spill

        try:
            if part not in self._files:
                self._files[part] = tempfile.TemporaryFile(prefix="fastbpe-")  # noqa: SIM115
            self._files[part].write(records)
            self._files[part].flush()
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}: cannot store the counts in {tempfile.gettempdir()}; set TMPDIR to a folder "
                "with enough space, or raise max_memory_bytes=",
            ) from error


@contextlib.contextmanager
def limited_tables(max_memory_bytes: int | None, n_threads: int) -> Iterator[tuple[Spill | None, int]]:
    """Divide a memory limit among the tables of several threads.

    Args:
        max_memory_bytes: bytes for all tables together; None: no limit.
        n_threads: number of threads; each has a table.

    Returns:
        A context manager for (spill, bytes per table), which counters accept as `spill=` and `limit=`; (None, 0)
        without a limit. At its end the temporary files are removed.
    """
    if max_memory_bytes is None:
        yield None, 0
        return
    with contextlib.closing(Spill()) as spill:
        yield spill, max(max_memory_bytes // n_threads, MIN_TABLE_BYTES)
