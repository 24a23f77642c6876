"""Counts that grow beyond their memory: put aside in temporary files, and added up at the end."""

from __future__ import annotations

import contextlib
import os
from threading import Lock
from typing import IO

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import add_records, write_parts
from fastbpe._core.train.piece_table import PieceTable

# Parts by the hash of a piece, not sorted runs: a part is added up in a table of its own, as fast as text is
# counted, where runs would have to be sorted first and merged piece by piece. Each holds a 64th of all.
_BITS = 6
_BLOCK = 1 << 20  # bytes read at a time


class Spill:
    """Where counters put what they hold when it has grown too large; close it at the end.

    The files have no names, where the system allows that: nothing is left of them, whatever ends the process.
    """

    def __init__(self) -> None:
        self._files: dict[int, IO[bytes]] = {}
        self._seed = int.from_bytes(os.urandom(8), "little")
        self._lock = Lock()

    def __call__(self, table: PieceTable) -> None:
        """Put aside all that a table holds, and empty it."""
        with self._lock:
            write_parts(table, _BITS, self._seed, self._write)
        table.clear()

    def total(self) -> PieceCounter:
        """All that was put aside, added up."""
        total, part = PieceCounter(Splitter()), PieceCounter(Splitter())
        for number in sorted(self._files):
            with self._files.pop(number) as file:
                file.seek(0)
                rest = b""
                while block := file.read(max(_BLOCK, len(rest))):
                    rest += block
                    rest = rest[add_records(part, rest) :]
            total.append(part)
            part.clear()
        return total

    def close(self) -> None:
        """Remove the files."""
        while self._files:
            with contextlib.suppress(OSError):  # what was still to be written found no room: nobody needs it
                self._files.popitem()[1].close()

    def is_used(self) -> bool:
        """Whether anything was put aside."""
        return bool(self._files)

    def _write(self, part: int, records: bytes) -> None:
        import tempfile  # here: 5 ms, for few

        try:
            if part not in self._files:
                self._files[part] = tempfile.TemporaryFile(prefix="fastbpe-")  # noqa: SIM115
            self._files[part].write(records)
            self._files[part].flush()
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}: no room for counts in {tempfile.gettempdir()}; set TMPDIR to a folder that "
                "has some, or give more max_memory_bytes",
            ) from error
