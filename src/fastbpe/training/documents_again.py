"""Documents that a run reads several times, also those of an iterator, which gives them once."""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Iterator
from typing import IO

from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Source
from fastbpe.training.options import ReadingOptions

_HEAD = struct.Struct("<?Q")  # of a document: it is a str; its bytes


@contextlib.contextmanager
def read_again(source: Source, reading: ReadingOptions) -> Iterator[tuple[Source, ReadingOptions]]:
    """Give a source that can be read again and again, with the options for it.

    The documents of an iterator are written to a temporary file (in TMPDIR), which the end of the context removes.

    Raises:
        OSError: the file cannot be written.
    """
    if not hasattr(source, "__next__"):
        yield source, reading
        return
    with tempfile.TemporaryFile(prefix="fastbpe-") as file:
        try:
            for document in reading.documents(reading.resolve(source), None, Skipped()):
                data = document.encode() if isinstance(document, str) else document
                file.write(_HEAD.pack(isinstance(document, str), len(data)))
                file.write(data)
            file.flush()
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(
                error.errno,
                f"{error.strerror}: no room for the documents in {tempfile.gettempdir()}; set TMPDIR to a folder "
                "that has some, or pass the documents as files or as a list",
            ) from error
        yield (
            _Kept(file),
            ReadingOptions(
                num_threads=reading.num_threads,
                max_memory_bytes=reading.max_memory_bytes,
                on_error=reading.on_error,
            ),
        )


class _Kept:
    """Documents in a file, in order.

    file: holds for each document its head and its bytes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[Document]:
        self._file.seek(0)
        while head := self._file.read(_HEAD.size):
            is_str, n_bytes = _HEAD.unpack(head)
            data = self._file.read(n_bytes)
            yield data.decode() if is_str else data
