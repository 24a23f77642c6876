"""Encoding of text files into files of ids: reading, encoding and writing at the same time, in bounded memory.

`encode_files` finds blocks of documents in the calling thread, reads and encodes each in one thread of a pool, and
appends the ids to a `Sink` in the order of the documents. Every few seconds the sink stores the progress, from
which an interrupted run resumes.
"""

# Tried and rejected: batches of 8 MB instead of 1 MB: each touches fresh memory, which is slow.
# Tried and rejected: blocks of 256 or 512 KB, more blocks in flight, no fsync: no gain.

from __future__ import annotations

import errno
import os
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from fastbpe._core.encode.batch_worker import encode_json_lines, encode_separated, encode_texts
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.ids.little_endian import pack_ids, pack_offsets
from fastbpe._core.text.utf8_text import to_utf8, utf8_size
from fastbpe._utils.batches import items_in
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe._utils.progress import Phase, Progress, Reporter
from fastbpe._utils.short_reprs import fields_repr
from fastbpe._utils.threads import CallPool, Future, usable_threads
from fastbpe.corpus.dividing import is_divisible
from fastbpe.corpus.document_files import formats_of, require_extras
from fastbpe.corpus.document_formats import check_effects
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.json_documents import Lines
from fastbpe.corpus.listing import Listing, Path_
from fastbpe.corpus.remote import AnyPath, absolute
from fastbpe.corpus.sinks import DTYPES, SUFFIXES, TABLES, Mismatch, Sink, check_absent
from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.corpus.sources import Block, is_long, read
from fastbpe.errors import FormatError

#: A file to encode, or a part of one.
Input = AnyPath | FilePart
#: Result of encoding a batch: the ids of all texts; n + 1 offsets into them, where texts begin and the last ends;
#: the size of the texts in bytes of UTF-8.
Encoded = tuple[Array, Array, int]

PROGRESS_INTERVAL = 5.0  # seconds between two notes of progress: a kill loses one interval of work
_BATCH_BYTES = (
    1 << 19
)  # bytes of text from which a batch is full; small enough that the next batch reuses freed buffers
_BATCH_TEXTS = 1 << 16  # texts from which a batch is full
_LONG_BATCHES = 16  # size in full batches from which all threads encode one batch together
_WRITE_OUT_BYTES = 4 << 20  # bytes of ids after which they are written to the disk before the next note
_PARAMETER_NAMES = {"before": "document_start", "after": "document_end"}  # field of Job → parameter of the caller
_READING = ("on_error", "errors")  # fields of Job without effect if all documents can be read
_RULES_VERSION = 1  # increased when the same inputs produce other outputs: then unfinished runs cannot be resumed


@dataclass(frozen=True)
class FilesSummary:
    """Result of `Tokenizer.encode_files`.

    Attributes:
        path: Path – the output.
        n_documents: int – documents in the output.
        n_ids: int – ids in the output.
        n_bytes: int – bytes of UTF-8 that were encoded, including earlier runs that this one resumed.
        seconds: float – duration of this call.
        n_skipped: int – documents that on_error="skip" left out. In a damaged file, all documents from the damage
            on count as one.
        skipped: tuple of str – names of the first ten of them, with file, line or row, and reason.
        n_left_out: int – files in input folders that were not read, because of their names (or, for .json, their
            content).
        left_out: tuple of str – names of the first ten of them.

    >>> import fastbpe, pathlib, tempfile
    >>> tokenizer = fastbpe.train(["low lower"], vocab_size=258, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = pathlib.Path(folder, "text.txt")
    ...     _ = text.write_text("low lower")
    ...     summary = tokenizer.encode_files(text, pathlib.Path(folder, "ids.bin"), progress=False)
    >>> summary.n_documents, summary.n_bytes
    (1, 9)
    """

    path: Path
    n_documents: int
    n_ids: int
    n_bytes: int
    seconds: float
    n_skipped: int = 0
    skipped: tuple[str, ...] = ()
    n_left_out: int = 0
    left_out: tuple[str, ...] = ()

    __repr__ = fields_repr


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
        errors: str – "strict": bytes that are not UTF-8 are an error; "replace": each becomes U+FFFD.
        header: str or None – header in front of the ids of a .bin, one of id_headers.HEADERS.
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
class _Batch:
    """Texts that are encoded together.

    Attributes:
        texts: documents, or parts of long ones.
        block: block that contains the texts; None: they are in `texts`.
        inner: indices of texts that continue a document of an earlier text.
        open: indices of texts whose document continues in a later text.
        size: int – length of all texts, in bytes or characters.
        progress: position after the batch: "file" (its index), "offset" of the `Stretch`, and "in_document"
            (bool: the document continues).
        n_stored: int – bytes of the stored input files up to there.
        skipped: documents that were left out; when `block` is encoded, its skipped documents are added.
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
        """Add the texts of a `Stretch`.

        Args:
            texts: the texts.
            is_start: bool – the first text begins a document.
            ends: bool – the last text ends a document.
        """
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

    def encode(self, encoder: Encoder, n_threads: int) -> Encoded:
        """Encode all texts."""
        texts: Sequence[Document] = self.texts
        if self.block is not None:
            if n_threads == 1 and (encoded := _encode_block(self.block, encoder)) is not None:
                if self._is_open:
                    self.open = {len(encoded[1]) - 2}
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


#: Function that is called with the summary when an output is in place.
AtEnd = Callable[[FilesSummary], object]


def nothing_more(_: FilesSummary) -> object:
    """Do nothing: the default for at_end."""
    return None


def encode_files(
    files: Sequence[Input],
    path: Path,
    job: Job,
    encoder: Encoder,
    cut: Cut | None,
    *,
    num_threads: int | None,
    progress: Progress,
    overwrite: bool,
    at_end: AtEnd = nothing_more,
) -> FilesSummary:
    """Encode the documents of files that `checked_files` returned.

    Args:
        files: the files; there may be none.
        path: the output.
        job: settings that decide the bytes of the output.
        encoder: encoder of texts.
        cut: function that finds safe cuts in long documents; None: long documents are kept whole in memory.
        num_threads, progress, overwrite: as for `Tokenizer.encode_files`.
        at_end: function to call when the output is in place; called again if the run is killed during the call.
            The run counts as unfinished until the function returns.
    """
    started = time.perf_counter()
    sink = Sink(path, job.dtype, _settings(job, files), _valid_progress, header=job.header)
    if not overwrite and not sink.is_finishing():
        check_absent(path)
    n_threads = usable_threads(num_threads)
    reporter = Reporter(progress)

    def summary(done: Mapping[str, Any]) -> FilesSummary:
        seconds = time.perf_counter() - started
        return FilesSummary(
            path, sink.n_documents, sink.n_ids, done["n_bytes"], seconds, done["n_skipped"], (*done["skipped"],)
        )

    try:
        with sink.opened(overwrite=overwrite) as done:
            if "finishing" in done:
                sink.move_into_place(done["finishing"], lambda: at_end(summary(done)))
            else:
                run = _Run(job, sink, encoder, n_threads, done)
                done = run.go(_batches(files, job, cut, done), files, reporter)
                sink.finish(done, _facts(job), lambda: at_end(summary(done)))
    except Mismatch as mismatch:
        raise FileExistsError(_explained(mismatch)) from None
    return summary(done)


class _Run:
    """One run: encodes batches in threads, and writes them in order.

    Each thread encodes separate batches; so does the calling thread, which also reads and writes.
    Tried and found slower: all threads work on the same batch, because they wait for the slowest.
    Tried and found slower: one thread more than n_threads, because it takes time from the others.

    Args:
        job: settings of the run.
        sink: the open output.
        encoder: encodes texts.
        n_threads: int – threads that encode, the calling one included.
        done: progress to resume from; {} for a new run.
    """

    def __init__(self, job: Job, sink: Sink, encoder: Encoder, n_threads: int, done: Mapping[str, Any]) -> None:
        self._sink, self._encoder, self._n_threads = sink, encoder, n_threads
        self._n_item_bytes = DTYPES[job.dtype]
        self._must_pack = job.dtype != "uint32" or sys.byteorder != "little"
        self._before, self._after = _Marker(job.before, job.dtype), _Marker(job.after, job.dtype)
        self._done: dict[str, Any] = {"n_bytes": 0, "n_skipped": 0, "skipped": [], **done}
        self._skipped = Skipped()
        self._skipped.add(self._done["n_skipped"], self._done["skipped"])
        self._earlier = self._done.pop("earlier", None)  # progress at the end of the file before the current one
        self._noted = time.monotonic()
        self._n_out = sink.n_ids
        self._writing_out: Future | None = None
        self._error: Exception | None = None

    def go(
        self, batches: Generator[_Batch], files: Sequence[AnyPath | FilePart], reporter: Reporter
    ) -> dict[str, Any]:
        """Encode and write all batches.

        Args:
            batches: batches after the progress to resume from.
            files: all input files, for the total of the progress bar.
            reporter: gets the phase "encoding", in bytes of the stored input files.

        Returns:
            The progress at the end.

        Raises:
            Exception: the first error of reading or encoding; all batches before it have been written and noted.
        """
        total = sum(path.stat().st_size for path in files)
        with (
            reporter.phase("encoding", total, unit="B", unit_scale=True) as phase,
            closing(batches),  # with the file that it reads: the traceback of an error keeps the generator
            CallPool(1) as writer,
            CallPool(self._n_threads - 1) as pool,
        ):
            try:
                self._encode(batches, phase, writer, pool)
            except FormatError as error:  # lines of jsonl are parsed when they are encoded
                self._error = error
        if self._error is not None:
            self._note()
            first_error, self._error = self._error, None
            try:
                raise first_error
            finally:
                del first_error  # this frame is in its traceback: they would be a cycle
        return self._done

    def _encode(self, batches: Iterator[_Batch], phase: Phase, writer: CallPool, pool: CallPool) -> None:
        waiting: deque[tuple[_Batch, Future]] = deque()
        batch: _Batch | None = None
        try:
            while (batch := self._next(batches)) is not None:
                n_threads = self._n_threads if batch.size >= _LONG_BATCHES * _BATCH_BYTES else 1
                waiting.append((batch, pool.submit(partial(batch.encode, self._encoder, n_threads))))
                while waiting and (len(waiting) > 2 * self._n_threads + 2 or waiting[0][1].is_done()):
                    self._write_first(waiting, pool, phase, writer)
            while waiting:
                self._write_first(waiting, pool, phase, writer)
        finally:  # the traceback of an error keeps this frame, and a batch keeps its file open
            waiting.clear()
            batch = None

    def _write_first(
        self, waiting: deque[tuple[_Batch, Future]], pool: CallPool, phase: Phase, writer: CallPool
    ) -> None:
        encoded = pool.result(waiting[0][1])
        batch, _ = waiting.popleft()
        self._write(batch, encoded, phase)
        self._write_out(writer)

    def _next(self, batches: Iterator[_Batch]) -> _Batch | None:
        """Read the next batch. An error is raised later, after all batches before it are written and noted."""
        try:
            return next(batches, None)
        except Exception as error:
            self._error = error
            return None

    def _write(self, batch: _Batch, encoded: Encoded, phase: Phase) -> None:
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
        phase.update(batch.n_stored - phase.n)
        if time.monotonic() - self._noted >= PROGRESS_INTERVAL:
            self._note()
            self._noted = time.monotonic()

    def _note(self) -> None:
        self._sink.note(self._done if self._earlier is None else {**self._done, "earlier": self._earlier})

    def _write_out(self, writer: CallPool) -> None:
        """Let another thread write appended ids to the disk, if there are enough ids and the thread is free."""
        if self._n_threads == 1 or (self._writing_out is not None and not self._writing_out.is_done()):
            return
        if (self._sink.n_ids - self._n_out) * self._n_item_bytes >= _WRITE_OUT_BYTES:
            self._n_out = self._sink.n_ids
            self._writing_out = writer.submit(self._sink.write_out)

    def _write_ids(self, ids: Array, offsets: memoryview, batch: _Batch) -> None:
        """Append the ids of a batch, with the job's ids before and after each document."""
        packed = pack_ids(ids, self._n_item_bytes) if self._must_pack else memoryview(ids).cast("B")
        at, before, after = self._sink.n_ids, self._before, self._after
        if not before.n and not after.n and not batch.open:
            self._sink.append(packed, len(ids), pack_offsets(offsets[1:], at))
            return
        view, size = memoryview(packed), self._n_item_bytes
        chunks: list[bytes | memoryview] = []
        ends = array("q")
        for number, (begin, end) in enumerate(pairwise(offsets)):
            if number not in batch.inner:
                chunks.append(before.data)
                at += before.n
            chunks.append(view[begin * size : end * size])
            at += end - begin
            if number not in batch.open:
                chunks.append(after.data)
                at += after.n
                ends.append(at)
        self._sink.append(b"".join(chunks), at - self._sink.n_ids, pack_offsets(ends, 0))


class _Marker:
    """Ids before or after each document, as bytes of the output.

    Attributes:
        n: int – number of ids.
        data: bytes – the ids, little-endian.
    """

    def __init__(self, ids: Sequence[int], dtype: str) -> None:
        self.n = len(ids)
        self.data = b"".join(token_id.to_bytes(DTYPES[dtype], "little") for token_id in ids)


def _batches(
    files: Sequence[AnyPath | FilePart], job: Job, cut: Cut | None, done: Mapping[str, Any]
) -> Generator[_Batch]:
    """Read all files from the progress `done` on, in batches."""
    first = done.get("file", 0)
    offset, is_start = done.get("offset", 0), not done.get("in_document", False)
    n_before = [0, *accumulate(path.stat().st_size for path in files)]
    separator = None if job.separator is None else to_utf8(job.separator)
    batch = _Batch()

    def skip(error: FormatError) -> None:
        batch.skipped(error)  # the batch of the documents around it

    for index in range(first, len(files)):
        stretches = read(
            files[index],
            format=job.format,
            separator=separator,
            field=job.text_field,
            cut=cut,
            offset=offset,
            skip=skip if job.on_error == "skip" else None,
            errors=job.errors,
        )
        for stretch in stretches:
            block = stretch.texts
            if is_long(block):
                if batch.texts:
                    yield batch
                    batch = _Batch()
                batch.hold(block, is_start=is_start, ends=stretch.ends)
                if block.skip is not None:
                    block.skip = batch.skipped  # the block is read later, when `batch` is another batch
            else:
                batch.add(stretch.documents(), is_start=is_start, ends=stretch.ends)
            is_start = stretch.ends
            batch.progress = {
                "file": index
                + (not stretch.offset),  # an empty file is over: it has no position behind its document
                "offset": stretch.offset,
                "in_document": not is_start,
            }
            batch.n_stored = n_before[index] + stretch.n_stored
            if batch.block is not None or batch.size >= _BATCH_BYTES or len(batch.texts) >= _BATCH_TEXTS:
                yield batch
                batch = _Batch()
        offset = 0
    batch.progress, batch.n_stored = {"file": len(files)}, n_before[-1]
    yield batch


def checked_files(inputs: Path_ | Iterable[Path_], out: AnyPath, job: Job) -> tuple[list[AnyPath], Skipped]:
    """List the input files, and check all that can be checked before anything is written.

    Returns:
        The files, and a record of the files that folders leave out.
    """
    if out.suffix not in SUFFIXES:
        raise ValueError(f"{out}: ids are written to {', '.join(SUFFIXES)} files; use one of these extensions")
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; pass the path of a file")
    if out.suffix in TABLES:
        require_pyarrow(out)
    if isinstance(out, Path) and not out.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; create it first", str(out.parent))
    if isinstance(inputs, (bytes, Mapping)) or not isinstance(inputs, (str, os.PathLike, Iterable)):
        raise TypeError(f"inputs must be a path, a folder, or a list of paths, not {type(inputs).__name__}")
    inputs = items_in(inputs, "inputs")
    listing = Listing(job.format, job.text_field)
    files = [
        file
        for item in ((inputs,) if isinstance(inputs, (str, os.PathLike)) else inputs)
        for file in listing.files(item)
    ]
    for path in files:
        if not path.exists():
            said = f"{os.strerror(errno.ENOENT)} (every str is a path here; texts are encoded by encode_batch)"
            raise FileNotFoundError(errno.ENOENT, said, os.fspath(path))
    if not files:
        raise ValueError("inputs is empty: pass a path, a folder, or a list of paths")
    if (same := next((path for path in files if path.resolve() == out.resolve()), None)) is not None:
        raise ValueError(f"{same} is both the output and an input; choose another output")
    for path in files:
        require_extras(path, job.format)
    check_effects(
        formats_of(files, job.format, job.text_field),
        format=job.format,
        text_field=job.text_field,
        separator=job.separator,
    )
    return files, listing.left_out


def _settings(job: Job, files: Sequence[Input]) -> dict[str, Any]:
    """Return the settings that must be equal in a run and the run that it resumes."""
    stats = [(path, path.stat()) for path in files]
    return {
        "version": _RULES_VERSION,
        **vars(job),
        "inputs": [[absolute(path), stat.st_size, stat.st_mtime_ns] for path, stat in stats],
    }


def _valid_progress(
    progress: dict[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the progress of an unfinished run that is still valid after some of its inputs have changed.

    If a user has replaced a damaged input, the output of the files before it is still valid.

    Args:
        progress: progress of the unfinished run.
        before: settings of that run.
        now: settings of this run.

    Returns:
        The progress up to the first changed file; None if nothing is valid, or other settings differ too. on_error
        and errors may differ if this does not change the documents up to there.
    """
    differing = {name for name in now if now[name] != before.get(name)}
    if not differing <= {"inputs", *_READING}:
        return None
    if differing & {*_READING} and not _reads_alike(progress, before, now):
        return None
    if "inputs" not in differing:
        return progress
    if [path for path, *_ in before.get("inputs") or ()] != [path for path, *_ in now["inputs"]]:
        return None
    changed = next(i for i, (a, b) in enumerate(zip(before["inputs"], now["inputs"], strict=True)) if a != b)
    for noted in (progress, progress.get("earlier", progress)):
        begins = not (noted.get("offset") or noted.get("in_document"))
        if noted.get("file", 0) < changed or (noted.get("file", 0) == changed and begins):
            return noted
    return None


def _reads_alike(progress: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Tell whether all documents up to the progress are the same with other on_error and errors.

    They are the same if no document was skipped and no byte can have been replaced.
    """
    return not progress.get("n_skipped") and before.get("errors") in ("strict", now["errors"])


def _facts(job: Job) -> dict[str, Any]:
    """Return the output's metadata about the run."""
    return {"tokenizer": job.identity, "before": job.before, "after": job.after}


def _explained(mismatch: Mismatch) -> str:
    """Write the message of the error for an unfinished run with other settings."""
    said = []
    for name, before, now in mismatch.differing:
        if name == "inputs" and isinstance(before, list) and len(before) == len(now):
            before, now = next((a, b) for a, b in zip(before, now, strict=True) if a != b)
            said.append(f"the input (path, size, time of change) {tuple(now)}, not {tuple(before)}")
        elif name == "inputs":
            said.append(f"{len(now)} inputs, not {len(before or ())}")
        elif name == "identity":
            said.append("another tokenizer")
        else:
            said.append(f"{_PARAMETER_NAMES.get(name, name)} {now!r}, not {before!r}")
    return (
        f"{mismatch.folder}: cannot resume this unfinished run, because the new run has {'; '.join(said)}. "
        "Use the settings of the unfinished run, or pass overwrite=True to begin again"
    )
