"""Whole files of text to files of ids: read, encode and write at once, in memory that does not grow with them."""

from __future__ import annotations

import errno
import os
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from fastbpe._core.encode.batch_worker import encode_json_lines, encode_texts
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.ids.little_endian import pack_ids, pack_offsets
from fastbpe._core.text.utf8_text import to_utf8, utf8_size
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe._utils.progress import Phase, Progress, Reporter
from fastbpe._utils.threads import Helpers, Promise, usable_threads
from fastbpe.corpus.sinks import DTYPES, SUFFIXES, Mismatch, Sink
from fastbpe.corpus.sources import Cut, Document, Lines, Path_, files_of, read, require_extras
from fastbpe.errors import FormatError

#: The ids of all texts, where each text's begin and the last end, and how many bytes of UTF-8 the texts are.
Encoded = tuple[Array, Array, int]

NOTED_EVERY = 5.0  # seconds between notes of progress: what a kill can cost, and a wait for the disk each
_BATCH_BYTES = 1 << 19  # of text at a time and thread, or more; so little that its memory serves again and again
_BATCH_TEXTS = 1 << 16
_LITTLE = 1 << 16  # bytes of lines: so few share a batch with others
_LONG_BATCH = 16  # times _BATCH_BYTES: a document so long that all threads should work on it
_WRITTEN_OUT = 4 << 20  # bytes of ids: so many wait for the disk to take them
_CALLED = {
    "before": "document_start",
    "after": "document_end",
}  # in the caller's words, with the ids of the tokens
_VERSION = 1  # of the rules by which inputs become outputs: an unfinished run of another is not gone on with


@dataclass(frozen=True)
class FilesSummary:
    """What `Tokenizer.encode_files` did.

    path: the output. n_documents, n_ids: what it holds. n_bytes: of text in UTF-8 that was encoded, also before a
    restart. seconds: what this call took.
    """

    path: Path
    n_documents: int
    n_ids: int
    n_bytes: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be done with the inputs; all of it decides the output's bytes.

    identity: what the output says of the tokenizer. before, after: the ids put around each document's.
    """

    identity: Mapping[str, Any]
    dtype: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    separator: str | None
    text_field: str


@dataclass
class _Batch:
    """Texts to be encoded together. inner: the numbers of those that begin no document; open: that end none.

    lines: the texts are in these instead. size: the bytes of all, about.
    """

    texts: list[Document] = field(default_factory=list)
    lines: Lines | None = None
    inner: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    size: int = 0
    progress: dict[str, Any] = field(default_factory=dict)
    n_stored: int = 0

    def add(self, texts: Sequence[Document], *, is_start: bool, ends: bool) -> None:
        if not is_start:
            self.inner.add(len(self.texts))
        self.texts += texts
        if not ends:
            self.open.add(len(self.texts) - 1)
        self.size += sum(map(len, texts))

    def encode(self, encoder: Encoder, n_threads: int) -> Encoded:
        texts: Sequence[Document] = self.texts
        if self.lines is not None:
            if n_threads == 1:
                lines = self.lines
                if (encoded := encode_json_lines(encoder, lines.block, lines.n, lines.field)) is not None:
                    return encoded
            texts = self.lines.texts()
        return *encode_texts(encoder, texts, n_threads), utf8_size(texts)


def encode_files(
    inputs: Path_ | Iterable[Path_],
    out: Path_,
    job: Job,
    encoder: Encoder,
    cut: Cut | None,
    *,
    num_threads: int | None,
    progress: Progress,
    overwrite: bool,
) -> FilesSummary:
    """Encode the documents of files into one file; see `Tokenizer.encode_files`."""
    started = time.perf_counter()
    path = Path(out)
    files = _checked_files(inputs, path)
    sink = Sink(path, job.dtype, _settings(job, files), _kept)
    if not overwrite and not sink.is_finishing():
        for name in sink.places():
            if name.exists():
                raise FileExistsError(f"{name} exists; to replace it, give overwrite=True (--overwrite)")
    n_threads = usable_threads(num_threads)
    reporter = Reporter(progress)
    try:
        with sink.begun(afresh=overwrite) as done:
            if "finishing" in done:
                sink.settle(done["finishing"])
            else:
                run = _Run(job, sink, encoder, n_threads, done)
                done = run.go(_batches(files, job, cut, done), files, reporter)
                sink.finish(done, _facts(job))
    except Mismatch as mismatch:
        raise FileExistsError(_explained(mismatch)) from None
    return FilesSummary(path, sink.n_documents, sink.n_ids, done["n_bytes"], time.perf_counter() - started)


class _Run:
    """Encoding in threads, of which the calling one also reads what is next and writes what was before.

    A batch each: that keeps all of them busy, where one batch after another in all of them would have them wait.
    And no more of them than are asked for: the calling one, were it one more, would stand in the others' way.
    """

    def __init__(self, job: Job, sink: Sink, encoder: Encoder, n_threads: int, done: Mapping[str, Any]) -> None:
        self._sink, self._encoder, self._n_threads = sink, encoder, n_threads
        self._n_item_bytes = DTYPES[job.dtype]
        self._must_pack = job.dtype != "uint32" or sys.byteorder != "little"
        self._before, self._after = _Marker(job.before, job.dtype), _Marker(job.after, job.dtype)
        self._done: dict[str, Any] = {"n_bytes": 0, **done}
        self._earlier = self._done.pop("earlier", None)  # the last progress in a file before the one it is in now
        self._noted = time.monotonic()
        self._n_out = sink.n_ids
        self._writing_out: Promise[None] | None = None
        self._error: Exception | None = None

    def go(self, batches: Iterator[_Batch], files: Sequence[Path], reporter: Reporter) -> dict[str, Any]:
        """Encode and write all batches; returns the progress at the end."""
        waiting: deque[tuple[_Batch, Promise[Encoded]]] = deque()
        total = sum(path.stat().st_size for path in files)
        with (
            reporter.phase("encoding", total, unit="B", unit_scale=True) as phase,
            Helpers(1) as writer,
            Helpers(self._n_threads - 1) as helpers,
        ):
            try:
                while (batch := self._next(batches)) is not None:
                    n_threads = self._n_threads if batch.size >= _LONG_BATCH * _BATCH_BYTES else 1
                    waiting.append((batch, helpers.promise(partial(batch.encode, self._encoder, n_threads))))
                    while waiting and (len(waiting) > 2 * self._n_threads + 2 or waiting[0][1].is_kept()):
                        batch, encoded = waiting.popleft()
                        self._write(batch, helpers.result(encoded), phase)
                        self._write_out(writer)
                while waiting:
                    batch, encoded = waiting.popleft()
                    self._write(batch, helpers.result(encoded), phase)
                    self._write_out(writer)
            except FormatError as error:  # of lines, found in encoding
                self._error = error
        if self._error is not None:
            self._note()
            raise self._error
        return self._done

    def _next(self, batches: Iterator[_Batch]) -> _Batch | None:
        """An error of the inputs waits until what comes before is written, so that nobody need do that again."""
        try:
            return next(batches, None)
        except Exception as error:
            self._error = error
            return None

    def _write(self, batch: _Batch, encoded: Encoded, phase: Phase) -> None:
        ids, offsets, n_bytes = encoded
        if "file" in self._done and batch.progress["file"] > self._done["file"]:
            counts = {"n_ids": self._sink.n_ids, "n_documents": self._sink.n_documents}
            self._earlier = {**self._done, **counts}
        self._write_ids(ids, memoryview(offsets), batch)
        self._done = {**batch.progress, "n_bytes": self._done["n_bytes"] + n_bytes}
        phase.update(batch.n_stored - phase.n)
        if time.monotonic() - self._noted >= NOTED_EVERY:
            self._note()
            self._noted = time.monotonic()

    def _note(self) -> None:
        self._sink.note(self._done if self._earlier is None else {**self._done, "earlier": self._earlier})

    def _write_out(self, writer: Helpers) -> None:
        if self._n_threads == 1 or (self._writing_out is not None and not self._writing_out.is_kept()):
            return
        if (self._sink.n_ids - self._n_out) * self._n_item_bytes >= _WRITTEN_OUT:
            self._n_out = self._sink.n_ids
            self._writing_out = writer.promise(self._sink.write_out)

    def _write_ids(self, ids: Array, offsets: memoryview, batch: _Batch) -> None:
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
    """Ids that stand around a document, as bytes."""

    def __init__(self, ids: Sequence[int], dtype: str) -> None:
        self.n = len(ids)
        self.data = b"".join(token_id.to_bytes(DTYPES[dtype], "little") for token_id in ids)


def _batches(files: Sequence[Path], job: Job, cut: Cut | None, done: Mapping[str, Any]) -> Iterator[_Batch]:
    """The stretches of all files from where `done` ends, in batches."""
    first = done.get("file", 0)
    offset, number, is_start = done.get("offset", 0), done.get("number", 0), not done.get("in_document", False)
    n_before = [0, *accumulate(path.stat().st_size for path in files)]
    separator = None if job.separator is None else to_utf8(job.separator)
    batch = _Batch()
    for index in range(first, len(files)):
        stretches = read(
            files[index],
            separator=separator,
            field=job.text_field,
            cut=cut,
            offset=offset,
            number=number,
            as_lines=True,
        )
        for stretch in stretches:
            texts = stretch.texts
            if isinstance(texts, Lines) and len(texts.block) >= _LITTLE:
                if batch.texts:
                    yield batch
                batch = _Batch(lines=texts, size=len(texts.block))
            else:
                texts = texts.texts() if isinstance(texts, Lines) else texts
                batch.add(texts, is_start=is_start, ends=stretch.ends)
            is_start = stretch.ends
            batch.progress = {
                "file": index,
                "offset": stretch.offset,
                "number": stretch.number,
                "in_document": not is_start,
            }
            batch.n_stored = n_before[index] + stretch.n_stored
            if batch.lines is not None or batch.size >= _BATCH_BYTES or len(batch.texts) >= _BATCH_TEXTS:
                yield batch
                batch = _Batch()
        offset = number = 0
    batch.progress, batch.n_stored = {"file": len(files)}, n_before[-1]
    yield batch


def _checked_files(inputs: Path_ | Iterable[Path_], out: Path) -> list[Path]:
    if out.suffix not in SUFFIXES:
        raise ValueError(f"{out}: ids are written to {', '.join(SUFFIXES)} files; give it one of these endings")
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; give the path of a file")
    if out.suffix == ".parquet":
        require_pyarrow(out)
    if not out.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", str(out.parent))
    if isinstance(inputs, (bytes, Mapping)) or not isinstance(inputs, (str, os.PathLike, Iterable)):
        raise TypeError(f"inputs must be a path, a folder, or a list of paths, not {type(inputs).__name__}")
    files = files_of(inputs)
    for path in files:
        if not path.exists():
            said = f"{os.strerror(errno.ENOENT)} (every str is a path here; texts are encoded by encode_batch)"
            raise FileNotFoundError(errno.ENOENT, said, os.fspath(path))
    if not files:
        raise ValueError("inputs is empty: give a path, a folder, or a list of paths")
    if (same := next((path for path in files if path.resolve() == out.resolve()), None)) is not None:
        raise ValueError(f"{same} is the output and one of the inputs; write to another place")
    for path in files:
        require_extras(path)
    return files


def _settings(job: Job, files: Sequence[Path]) -> dict[str, Any]:
    """What a run that is to be gone on with must have alike."""
    stats = [(path, path.stat()) for path in files]
    return {
        "version": _VERSION,
        **vars(job),
        "inputs": [[os.path.abspath(path), stat.st_size, stat.st_mtime_ns] for path, stat in stats],
    }


def _kept(progress: dict[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """How far an unfinished run holds where inputs were changed since, as one that was damaged: up to the first.

    None where that leaves nothing of what was done.
    """
    if [name for name in now if now[name] != before.get(name)] != ["inputs"]:
        return None
    if [path for path, *_ in before["inputs"]] != [path for path, *_ in now["inputs"]]:
        return None
    changed = next(i for i, (a, b) in enumerate(zip(before["inputs"], now["inputs"], strict=True)) if a != b)
    for noted in (progress, progress.get("earlier", progress)):
        begins = not (noted.get("offset") or noted.get("number") or noted.get("in_document"))
        if noted.get("file", 0) < changed or (noted.get("file", 0) == changed and begins):
            return noted
    return None


def _facts(job: Job) -> dict[str, Any]:
    return {"tokenizer": job.identity, "before": job.before, "after": job.after}


def _explained(mismatch: Mismatch) -> str:
    said = []
    for name, before, now in mismatch.differing:
        if name == "inputs" and isinstance(before, list) and len(before) == len(now):
            before, now = next((a, b) for a, b in zip(before, now, strict=True) if a != b)
            said.append(f"the input (path, size, time of change) {tuple(now)}, which was {tuple(before)}")
        elif name == "inputs":
            said.append(f"{len(now)} inputs, which were {len(before or ())}")
        elif name == "identity":
            said.append("another tokenizer")
        else:
            said.append(f"{_CALLED.get(name, name)} {now!r}, which was {before!r}")
    return (
        f"{mismatch.folder}: an unfinished run, not to be gone on with by one that has {'; '.join(said)}. "
        "Repeat the former, or give overwrite=True (--overwrite) to begin anew"
    )
