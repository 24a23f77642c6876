"""Threads that count the text of a source in batches, each into a separate table.

The calling thread divides the source into batches and puts them into a queue; if that is long, it also counts.
A block of a long file is a batch, and the thread that counts it reads it.
`document_counting` counts pieces and runs in this way, `codepoint_counting` counts words. Tables that exceed their
memory limit are written to temporary files, and added up at the end (`Spill`).
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from operator import attrgetter, itemgetter
from queue import Empty, SimpleQueue
from threading import Lock
from typing import IO, Generic, Protocol, TypeVar

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import add_records, write_parts
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.threads import CallerNeeded, clear_frames, start_beside, wait_for
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Block

# A unit is a byte of a bytes document, a character of a str document: what len() counts.
BATCH_UNITS = 1 << 18  # characters (str) or bytes of a batch; with fewer, threads would mostly wait for the queue
BATCH_TEXTS = 1 << 14  # maximum number of documents of a batch; empty ones, without units, would not fill it
# Units: a document of this length or more is cut into parts, one for each batch. Shorter ones are
# counted whole: no thread waits long for the last of them.
LONG_TEXT_UNITS = 1 << 21
BATCHES_AHEAD = 2  # batches for each thread that may wait in the queue; if more wait, the reading thread counts

# minimum bytes of a thread's table; with fewer, the thread would spend its time on spilling
MIN_TABLE_BYTES = 1 << 18
# A file holds, unsorted, the pieces whose hashes begin with the same bits. So a table for one file at a time can
# add up its counts, as fast as text is counted.
# Tried and rejected: sorted runs with a k-way merge, which is slower, since it sorts each run and then compares
# piece by piece.
_HASH_BITS = 6  # bits of the hash that choose the file: 64 files, each with 1/64 of the pieces
_READ_BYTES = 1 << 20  # bytes read from a file at a time


class Counter(Protocol):
    """Table that one thread counts into."""

    @property
    def n_bytes(self) -> int:
        """Number of bytes of text counted so far."""

    def abandon(self) -> None:
        """Make another thread's counting call stop soon with an error."""


C = TypeVar("C", bound=Counter)
#: Function of a document and its number in the source: the parts to count it in, (start, end) in units; None:
#: whole.
Parts = Callable[[Document, int], "Iterable[tuple[int, int]] | None"]


class Batch(NamedTuple):
    """Texts that one thread counts in one call.

    number: int – position among the batches of the source, from 0.
    texts: the documents; only one if `part` is given.
    first: int – number of the first document in the source, for errors; a block of a file counts as one.
    part: (start, end) – the part of the document to count, in characters of a str, in bytes of bytes; None: count
        whole documents.
    block: block of a file that contains the documents; None: they are in `texts`.
    """

    number: int
    texts: list[Document]
    first: int
    part: tuple[int, int] | None
    block: Block | None = None

    def documents(self) -> list[Document]:
        """Return the documents; if they are in a block, read it now."""
        return self.texts if self.block is None else list(self.block.texts())


def batches(documents: Iterable[Document | Block], parts_of: Parts) -> Generator[Batch]:
    """Group documents into batches of about BATCH_UNITS characters (str) or bytes.

    A block is a batch, and so is each part of a long document.

    At the end, `documents` is closed if it is a generator.
    """
    with contextlib.closing(documents) if isinstance(documents, Generator) else contextlib.nullcontext():
        yield from _batches(documents, parts_of)


def _batches(documents: Iterable[Document | Block], parts_of: Parts) -> Iterator[Batch]:
    number, first, n_units = 0, 0, 0
    texts: list[Document] = []
    for index, document in enumerate(documents):
        if not isinstance(document, (str, bytes)):
            if texts:
                yield Batch(number, texts, first, None)
                number, texts, n_units = number + 1, [], 0
            yield Batch(number, [], index, None, document)
            number += 1
            continue
        document_parts = parts_of(document, index)
        if texts and (document_parts is not None or n_units >= BATCH_UNITS or len(texts) == BATCH_TEXTS):
            yield Batch(number, texts, first, None)
            number, texts, n_units = number + 1, [], 0
        if document_parts is not None:
            for part in document_parts:
                yield Batch(number, [document], index, part)
                number += 1
        else:
            first = first if texts else index
            texts.append(document)
            n_units += len(document)
    if texts:
        yield Batch(number, texts, first, None)


def merged_tables(tables: list[PieceCounter], spill: Spill | None) -> PieceCounter:
    """Add up the tables that threads counted from batches of one source.

    Args:
        tables: one table per thread. The function changes them; the result may be one of them.
        spill: temporary files of the tables; None: there are no files.

    Returns:
        A finished table. Pieces are in the order of the source for any number of threads; words, which are counted
        without their positions, are in no particular order.
    """
    total = max(tables, key=attrgetter("n_pieces"))
    for table in tables:
        if table is not total and not (spill is not None and spill.is_used()):
            # behind=False: the positions in all tables are positions in the same source. Spills if all tables
            # together need more memory than one may take.
            total.add_table(table, behind=False)
            table.clear()
    if spill is not None and spill.is_used():
        for table in tables:
            spill(table)
        total = spill.total()
    total.finish()
    return total


class CountingThreads(Generic[C]):
    """Threads that count batches, each into a separate counter.

    Args:
        make_counter: function that creates a counter; called in the thread that will use it.
        add: function that counts a batch into a counter.
    """

    def __init__(self, make_counter: Callable[[], C], add: Callable[[C, Batch], None]) -> None:
        self._make_counter, self._add = make_counter, add
        self.counters: list[C] = []
        self._queue: SimpleQueue[Batch | None] = SimpleQueue()  # None: there will be no more batches
        self._working: deque[None] = deque()  # one item for each thread at work
        self._errors: list[tuple[int, Exception]] = []  # (number of the batch, its error)
        self._left: list[Batch] = []  # batches that need the caller's thread
        self._abandoned = False

    @property
    def n_bytes(self) -> int:
        """Number of bytes of text counted so far."""
        return sum(counter.n_bytes for counter in self.counters)

    def count(self, batches: Generator[Batch], n_others: int, report: Callable[[int], object]) -> None:
        """Count all batches.

        Args:
            batches: result of `batches`, read in the calling thread. It is closed at the end with its files: after
                an error, the frames of the traceback keep it, and free-threaded Python frees the error of another
                thread only later.
            n_others: number of threads in addition to the calling one.
            report: function to call from time to time with `n_bytes`, in the calling thread.

        Raises:
            Exception: the error of the first batch that raised one, or the error of reading the batches.
        """
        own_counter = self._new_counter()
        n_started = 0
        try:
            for batch in batches:
                if batch.number == 1:  # a single batch is counted before a thread would have started
                    n_started = start_beside(self._work, n_others)
                self._queue.put(batch)
                if self._queue.qsize() > BATCHES_AHEAD * n_started:
                    self._count_next(own_counter)
                if self._errors:
                    break
                report(self.n_bytes)
            while self._count_next(own_counter):
                report(self.n_bytes)
            self._wait()
            if self._left:
                own_counter = self._new_counter()  # the first one may have counted later batches
            for batch in sorted(self._left, key=attrgetter("number")):
                self._count(own_counter, batch)
        except BaseException:
            self._abandon()
            raise
        finally:
            self._wait()
            batches.close()
        if self._errors:
            error = min(self._errors, key=itemgetter(0))[1]
            self._errors.clear()
            try:
                raise error
            finally:
                del error  # its traceback contains this frame: together they would form a cycle

    def _new_counter(self) -> C:
        counter = self._make_counter()
        self.counters.append(counter)
        return counter

    def _count_next(self, counter: C) -> bool:
        """Count the first batch of the queue; False if the queue is empty.

        Taking the first gives each counter batches in ascending order, on which its order of pieces relies.
        """
        try:
            batch = self._queue.get_nowait()
        except Empty:
            return False
        assert batch is not None
        self._count(counter, batch)
        return True

    def _work(self) -> None:
        """Count batches until the queue signals the end; the body of the other threads."""
        self._working.append(None)
        try:
            counter: C | None = None
            while (batch := self._queue.get()) is not None:
                try:
                    counter = self._new_counter() if counter is None else counter
                except Exception as error:  # no memory: nobody counts the batch, so the caller gets the error
                    self._errors.append((batch.number, error))
                    clear_frames(error)
                else:
                    self._count(counter, batch)
            self._queue.put(None)  # for the next thread
        finally:
            self._working.pop()

    def _count(self, counter: C, batch: Batch) -> None:
        # Threads take batches in order and skip only those after a failed one: so the first error is among
        # _errors.
        if self._abandoned or any(number < batch.number for number, _ in self._errors):
            return
        try:
            self._add(counter, batch)
        except CallerNeeded:
            self._left.append(batch)
        except Exception as error:
            self._errors.append((batch.number, error))
            clear_frames(error)

    def _abandon(self) -> None:
        self._abandoned = True
        for counter in list(self.counters):
            counter.abandon()

    def _wait(self) -> None:
        """Wait until all threads have ended, even if signals interrupt the waiting."""
        self._queue.put(None)  # also for a thread that starts late
        wait_for(self._working, self._abandon)


# Limited memory


class Spill:
    """Temporary files for the tables of several threads; `close` removes them.

    If the system allows it, the files have no names, so that they vanish however the process ends.

    Args:
        hash_bits: number of bits of a piece's hash that choose its file: there are 2**hash_bits files.
    """

    def __init__(self, hash_bits: int = _HASH_BITS) -> None:
        self._hash_bits = hash_bits
        self._files: dict[int, IO[bytes]] = {}
        # random, so that no text can be made whose pieces all go to one file
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
                unread = b""  # the beginning of a record
                # As many bytes as are unread: a long record is copied twice, not once per megabyte.
                while block := file.read(max(_READ_BYTES, len(unread))):
                    unread += block
                    unread = unread[add_records(part, unread) :]
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
            self._files[part].flush()  # raises the error of a full disk here, not in `parts`
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
