"""A run that writes a file of ids: batches of documents are encoded in threads and written in order.

Files, texts of an iterable and sequences of integers are encoded by such runs: see `file_encoding`, `encode_texts`
and `encode_sequences`.
"""

# Tried and rejected: batches of 8 MB instead of 1 MB: each touches fresh memory, which is slow.
# Tried and rejected: more blocks in flight; sync_file_range, or fsync after 1, 8 or 12 MB: no gain
# (benchmarks/records/2026-11-29-files.md).

from __future__ import annotations

import sys
import time
from array import array
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from fastbpe._core.encode.batch_worker import encode_json_lines, encode_separated, encode_texts
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.ids.little_endian import pack_ids, pack_offsets
from fastbpe._core.text.utf8_text import utf8_size
from fastbpe._utils.progress import Phase, Reporter
from fastbpe._utils.threads import CallerNeeded, CallPool, Future
from fastbpe.corpus.dividing import is_divisible
from fastbpe.corpus.file_parts import FilePart, stored_size
from fastbpe.corpus.json_documents import Lines
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.sinks import DTYPES, Sink
from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Block
from fastbpe.errors import FormatError

#: Result of encoding a batch: the ids of all texts; n + 1 offsets into them, where texts begin and the last ends;
#: the size of the texts in bytes of UTF-8.
Encoded = tuple[Array, Array, int]

PROGRESS_INTERVAL = 5.0  # seconds between two notes of progress: a kill loses one interval of work
# Bytes of text from which a batch is full; small enough that the next batch reuses freed buffers.
BATCH_BYTES = 1 << 19
BATCH_TEXTS = 1 << 16  # texts from which a batch is full
_LONG_BATCHES = 16  # size in full batches from which all threads encode one batch together
_WRITE_OUT_BYTES = 4 << 20  # once so many bytes of ids are appended, write them to the disk before the next note


@dataclass(frozen=True, kw_only=True)
class Job:
    """Settings of a run that decide the bytes of its output.

    Attributes:
        identity: description of the tokenizer, which is stored in the output's metadata.
        dtype: str – "uint16" or "uint32".
        before: tuple of int – ids in front of each document.
        after: tuple of int – ids after each document.
        separator: str or None – text between the documents of a text file; None: the file is one document.
        text_field: str – field of a JSON line, or column of a table, that contains the text.
        format: str or None – format of all inputs; None: by name, or else by content.
        on_error: str – "raise" an error for a document that cannot be read, or "skip" it.
        errors: str – "strict": bytes that are not UTF-8 are an error; "replace": they become U+FFFD.
        header: str or None – header in front of the ids of a .bin, one of id_headers.HEADERS; None: no header.
    """

    identity: Mapping[str, Any]
    dtype: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    separator: str | None
    text_field: str
    format: str | None = None
    on_error: str = "raise"
    errors: str = "strict"
    header: str | None = None

    def is_divisible(self, path: AnyPath) -> bool:
        """Tell whether an input can be divided between documents."""
        return is_divisible(path, self.format, self.text_field, self.separator, self.errors)


@dataclass
class Batch:
    """Texts that are encoded together.

    Attributes:
        texts: documents, or parts of long ones.
        block: block that contains the texts; None: they are in `texts`.
        inner: indices of texts that continue a document of an earlier text.
        open: indices of texts whose document continues in a later text.
        size: int – length of all texts, in bytes or characters.
        progress: position after the batch: "file" (its index), "offset" of the `Stretch`, and "in_document"
            (bool: the document continues). {"file": 0} if the run cannot be resumed.
        n_stored: int – bytes of the stored input files up to there.
        skipped: documents before `progress` that were left out; when `block` is encoded, its skipped documents are
            added.
    """

    texts: list[Document] = field(default_factory=list)
    block: Block | None = None
    inner: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    size: int = 0
    progress: dict[str, Any] = field(default_factory=dict)
    n_stored: int = 0
    skipped: Skipped = field(default_factory=Skipped)
    _is_open: bool = False

    def add(self, texts: Sequence[Document], *, is_start: bool, ends: bool) -> None:
        """Add texts. is_start: the first begins a document; ends: the last ends a document."""
        if not is_start:
            self.inner.add(len(self.texts))
        self.texts += texts
        if not ends:
            self.open.add(len(self.texts) - 1)
        self.size += sum(map(len, texts))

    def hold(self, block: Block, *, is_start: bool, ends: bool) -> None:
        """Set a block as the only content. is_start, ends: as for `add`."""
        self.block, self.size = block, block.n_bytes
        self.inner = set() if is_start else {0}
        self._is_open = not ends

    @property
    def is_full(self) -> bool:
        """True if nothing more should be added."""
        return self.block is not None or self.size >= BATCH_BYTES or len(self.texts) >= BATCH_TEXTS

    @property
    def needs_all_threads(self) -> bool:
        """True if the batch is so long that all threads should encode it together."""
        return self.size >= _LONG_BATCHES * BATCH_BYTES

    def encode(self, encoder: Encoder, n_threads: int) -> Encoded:
        texts: Sequence[Document] = self.texts
        if self.block is not None:
            if n_threads == 1 and (encoded := _encode_block(self.block, encoder)) is not None:
                if self._is_open:
                    self.open = {len(encoded[1]) - 2}  # the last text: n texts have n + 1 offsets
                return encoded
            texts = self.block.texts()
            if self._is_open:
                self.open = {len(texts) - 1}
        return *encode_texts(encoder, texts, n_threads), utf8_size(texts)


def _encode_block(block: Block, encoder: Encoder) -> Encoded | None:
    """Encode the documents of a block without creating objects for them; None if this is not possible."""
    if isinstance(block, Lines):
        return encode_json_lines(encoder, block.load(), block.field)
    texts = block.separated()
    return None if texts is None else encode_separated(encoder, texts)


class Run:
    """One run: encodes batches in threads, and writes them in order.

    Each thread encodes separate batches, or all encode a long one together. The calling thread also reads and
    writes.
    Tried and found slower: all threads on the same batch, because each batch then waits for the slowest thread.
    Tried and found slower: one thread more than n_threads, because it takes time from the others.

    Args:
        sink: the open output.
        n_threads: int – threads that encode, the calling one included.
        done: progress to resume from; {} for a new run; None: it cannot be resumed, and notes no progress.
    """

    def __init__(
        self, job: Job, sink: Sink, encoder: Encoder, n_threads: int, done: Mapping[str, Any] | None
    ) -> None:
        self._sink, self._encoder, self._n_threads = sink, encoder, n_threads
        self._n_item_bytes = DTYPES[job.dtype]
        self._must_pack = job.dtype != "uint32" or sys.byteorder != "little"
        self._before, self._after = _Marker(job.before, job.dtype), _Marker(job.after, job.dtype)
        self._can_resume = done is not None
        self._done: dict[str, Any] = {"n_bytes": 0, "n_skipped": 0, "skipped": [], **(done or {})}
        self._skipped = Skipped()
        self._skipped.add(self._done["n_skipped"], self._done["skipped"])
        self._earlier = self._done.pop("earlier", None)  # progress at the end of the file before the current one
        self._noted = time.monotonic()
        self._n_out = sink.n_ids
        self._writing_out: Future | None = None
        self._error: Exception | None = None

    def go(
        self, batches: Generator[Batch], files: Sequence[AnyPath | FilePart], reporter: Reporter
    ) -> dict[str, Any]:
        """Encode and write all batches.

        Args:
            batches: the batches after the progress to resume from.
            files: all input files, for the total of the progress bar.
            reporter: gets the phase "encoding", in bytes of the stored input files.

        Returns the progress at the end.

        Raises:
            Exception: the first error of reading or encoding. Before an error of reading, or a FormatError, all
                earlier batches have been written and noted.
        """
        total = sum(map(stored_size, files))
        with (
            reporter.phase("encoding", total, unit="B", unit_scale=True) as phase,
            closing(batches),  # closes its open file, too: the traceback of an error keeps the generator
            CallPool(1) as writer,
            CallPool(self._n_threads - 1) as pool,
        ):
            try:
                self._encode(batches, phase, writer, pool)
            except FormatError as error:  # lines of jsonl are parsed when they are encoded
                self._error = error  # it comes before an error that `_next` has stored
        if self._error is not None:
            self._note()
            first_error, self._error = self._error, None
            try:
                raise first_error
            finally:
                del first_error  # its traceback contains this frame: together they would form a cycle
        return self._done

    def _encode(self, batches: Iterator[Batch], phase: Phase, writer: CallPool, pool: CallPool) -> None:
        waiting: deque[tuple[Batch, Future]] = deque()
        batch: Batch | None = None
        try:
            while (batch := self._next(batches)) is not None:
                n_threads = self._n_threads if batch.needs_all_threads else 1
                waiting.append((batch, pool.submit(partial(batch.encode, self._encoder, n_threads))))
                # More batches in flight gained nothing.
                while waiting and (len(waiting) > 2 * self._n_threads + 2 or waiting[0][1].is_done()):
                    self._write_first(waiting, pool, phase, writer)
            while waiting:
                self._write_first(waiting, pool, phase, writer)
        finally:  # the traceback of an error keeps this frame, and a batch keeps its file open
            waiting.clear()
            batch = None

    def _write_first(
        self, waiting: deque[tuple[Batch, Future]], pool: CallPool, phase: Phase, writer: CallPool
    ) -> None:
        try:
            encoded = pool.result(waiting[0][1])
        except CallerNeeded:
            encoded = waiting[0][0].encode(self._encoder, 1)
        batch, _ = waiting.popleft()
        self._write(batch, encoded, phase)
        self._write_out(writer)

    def _next(self, batches: Iterator[Batch]) -> Batch | None:
        """Read the next batch. An error is raised later, after all batches before it are written and noted."""
        try:
            return next(batches, None)
        except Exception as error:
            self._error = error
            return None

    def _write(self, batch: Batch, encoded: Encoded, phase: Phase) -> None:
        """Append an encoded batch to the sink, and note the progress if PROGRESS_INTERVAL has passed."""
        ids, offsets, n_bytes = encoded
        if "file" in self._done and batch.progress["file"] > self._done["file"]:
            counts = {"n_ids": self._sink.n_ids, "n_documents": self._sink.n_documents}
            self._earlier = {**self._done, **counts}
        self._write_ids(ids, memoryview(offsets), batch)
        self._skipped.add(batch.skipped.n, batch.skipped.first)
        self._done = {
            **batch.progress,
            "n_bytes": self._done["n_bytes"] + n_bytes,
            "n_skipped": self._skipped.n,
            "skipped": self._skipped.first,
        }
        phase.reach(batch.n_stored)
        if time.monotonic() - self._noted >= PROGRESS_INTERVAL:
            self._note()
            self._noted = time.monotonic()

    def _note(self) -> None:
        if self._can_resume:
            self._sink.note(self._done if self._earlier is None else {**self._done, "earlier": self._earlier})

    def _write_out(self, writer: CallPool) -> None:
        """Let the writer, if idle, write out ids once _WRITE_OUT_BYTES are appended; not with one thread."""
        if self._n_threads == 1 or (self._writing_out is not None and not self._writing_out.is_done()):
            return
        if (self._sink.n_ids - self._n_out) * self._n_item_bytes >= _WRITE_OUT_BYTES:
            self._n_out = self._sink.n_ids
            self._writing_out = writer.submit(self._sink.write_out)

    def _write_ids(self, ids: Array, offsets: memoryview, batch: Batch) -> None:
        """Append the ids of a batch, with the job's ids before and after each document."""
        packed = pack_ids(ids, self._n_item_bytes) if self._must_pack else memoryview(ids).cast("B")
        n_ids, before, after = self._sink.n_ids, self._before, self._after  # n_ids: ids of the output so far
        if not before.n and not after.n:
            ends: memoryview | array[int] = offsets[1:]
            if batch.open:
                ends = array("q", (end for number, end in enumerate(ends) if number not in batch.open))
            self._sink.append(packed, len(ids), pack_offsets(ends, n_ids))
            return
        view, size = memoryview(packed), self._n_item_bytes
        chunks: list[bytes | memoryview] = []
        ends = array("q")
        for number, (begin, end) in enumerate(pairwise(offsets)):
            if number not in batch.inner:
                chunks.append(before.data)
                n_ids += before.n
            chunks.append(view[begin * size : end * size])
            n_ids += end - begin
            if number not in batch.open:
                chunks.append(after.data)
                n_ids += after.n
                ends.append(n_ids)
        self._sink.append(b"".join(chunks), n_ids - self._sink.n_ids, pack_offsets(ends, 0))


class _Marker:
    """Ids before or after each document, as bytes of the output.

    Attributes:
        n: int – number of ids.
        data: bytes – the ids, little-endian.
    """

    def __init__(self, ids: Sequence[int], dtype: str) -> None:
        self.n = len(ids)
        self.data = b"".join(token_id.to_bytes(DTYPES[dtype], "little") for token_id in ids)


def facts(job: Job) -> dict[str, Any]:
    """Return the output's metadata about the run."""
    return {"tokenizer": job.identity, "before": job.before, "after": job.after}
