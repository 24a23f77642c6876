"""Encoding of text files into files of ids: `encode_files` reads, encodes and writes at the same time.

It finds blocks of documents in the calling thread; a `Run` reads and encodes each in one thread of a pool, or a
long one in all, and appends the ids to a `Sink` in the order of the documents. Every few seconds the sink stores
the progress, from which an interrupted run resumes.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.batches import items_in
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.short_reprs import fields_repr
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.document_files import formats_of, require_extras
from fastbpe.corpus.document_formats import check_effects
from fastbpe.corpus.encoding_run import Batch, Job, Run, facts
from fastbpe.corpus.file_parts import FilePart, stored_size
from fastbpe.corpus.listing import Listing, Path_
from fastbpe.corpus.remote import AnyPath, absolute
from fastbpe.corpus.sinks import Mismatch, Sink, check_absent, check_output
from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.source_kinds import Cut
from fastbpe.corpus.sources import is_long, read
from fastbpe.errors import FormatError

#: A file to encode, or a part of one.
Input = AnyPath | FilePart
_PARAMETER_NAMES = {"before": "document_start", "after": "document_end"}  # field of Job → parameter of the caller
_READING = ("on_error", "errors")  # fields of Job without effect if all documents can be read
_RULES_VERSION = 1  # increased when the same inputs produce other outputs: then unfinished runs cannot be resumed


@dataclass(frozen=True)
class FilesSummary:
    """Result of calls that write files of ids, such as `Tokenizer.encode_files`, `write_shard` and `merge_shards`.

    Attributes:
        path: Path – the output.
        n_documents: int – documents in the output.
        n_ids: int – ids in the output.
        n_bytes: int – bytes of UTF-8 that were encoded, including earlier runs that this one resumed; 4 for each
            integer of a sequence. For `merge_shards`, the sum that the manifests of shards record.
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


#: Function that is called with the summary when an output is in place.
AtEnd = Callable[[FilesSummary], object]


def nothing_more(_: FilesSummary) -> None:
    """Do nothing: the default for at_end."""


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
    """Encode the documents of files.

    Args:
        files: files that `checked_files` returned, or parts of them; there may be none.
        cut: function that finds safe cuts in long documents; None: long documents are kept whole in memory.
        at_end: function to call when the output is in place. The run counts as unfinished until the function
            returns; if the run is killed before that, a resumed run calls the function again.

    Raises:
        FileExistsError: without overwrite, the output exists, or an unfinished run with other settings.
    """
    started = time.perf_counter()
    n_threads = usable_threads(num_threads)
    sink = Sink(path, job.dtype, _settings(job, files), _valid_progress, header=job.header, n_threads=n_threads)
    if not overwrite and not sink.is_finishing():
        check_absent(path)
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
                run = Run(job, sink, encoder, n_threads, done)
                done = run.go(_batches(files, job, cut, done, n_threads), files, reporter)
                sink.finish(done, facts(job), lambda: at_end(summary(done)))
    except Mismatch as mismatch:
        raise FileExistsError(_explained(mismatch)) from None
    return summary(done)


def _batches(
    files: Sequence[AnyPath | FilePart], job: Job, cut: Cut | None, done: Mapping[str, Any], n_threads: int
) -> Generator[Batch]:
    """Read all files from the progress `done` on, in batches."""
    first = done.get("file", 0)
    offset, is_start = done.get("offset", 0), not done.get("in_document", False)
    bytes_before = [0, *accumulate(map(stored_size, files))]  # by file: size of those before it
    separator = None if job.separator is None else to_utf8(job.separator)
    batch = Batch()
    # Documents left out since the last stretch. A batch counts them once its progress lies behind them: the
    # damaged rest of a file comes after a batch that ends because the next file begins with a long block.
    skipped = Skipped()

    def skip(error: FormatError) -> None:
        skipped(error)  # the present record

    for index, file in enumerate(files[first:], first):
        stretches = read(
            file,
            format=job.format,
            separator=separator,
            field=job.text_field,
            cut=cut,
            offset=offset,
            skip=skip if job.on_error == "skip" else None,
            errors=job.errors,
            n_threads=n_threads,
        )
        for stretch in stretches:
            block = stretch.texts
            if is_long(block):
                if batch.texts:
                    yield batch
                    batch = Batch()
                batch.hold(block, is_start=is_start, ends=stretch.ends)
                if block.skip is not None:
                    block.skip = batch.skipped  # the block is read later, when `batch` is another batch
            else:
                batch.add(stretch.documents(), is_start=is_start, ends=stretch.ends)
            is_start = stretch.ends
            batch.progress = {
                # An empty file is finished: no position comes after its document.
                "file": index + (not stretch.offset),
                "offset": stretch.offset,
                "in_document": not is_start,
            }
            n_stored = file.stored(stretch.n_stored) if isinstance(file, FilePart) else stretch.n_stored
            batch.n_stored = bytes_before[index] + n_stored
            batch.skipped.add(skipped.n, skipped.first)
            skipped = Skipped()
            if batch.is_full:
                yield batch
                batch = Batch()
        offset = 0
    batch.progress, batch.n_stored = {"file": len(files)}, bytes_before[-1]
    batch.skipped.add(skipped.n, skipped.first)
    yield batch


def checked_files(inputs: Path_ | Iterable[Path_], out: AnyPath, job: Job) -> tuple[list[AnyPath], Skipped]:
    """List the input files, and check all that can be checked before anything is written.

    Returns:
        The files, and a record of the files that folders leave out.
    """
    check_output(out)
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

    If a user has replaced a damaged input, or now skips documents, the output of the files before is still valid.

    before, now: settings of the unfinished run and of this run.

    Returns:
        The progress, or its `earlier` at the end of the file before; None if neither is valid, or other settings
        differ too. on_error and errors may differ if this does not change the documents up to there.
    """
    differing = {name for name in now if now[name] != before.get(name)}
    if not differing <= {"inputs", *_READING}:
        return None
    if [path for path, *_ in before.get("inputs") or ()] != [path for path, *_ in now["inputs"]]:
        return None
    inputs = enumerate(zip(before["inputs"], now["inputs"], strict=True))
    changed = next((i for i, (a, b) in inputs if a != b), len(now["inputs"]))
    begins_to_skip = "on_error" in differing and now["on_error"] == "skip"
    for noted in (progress, progress.get("earlier", progress)):
        if differing & {*_READING} and not _reads_alike(noted, before, now):
            continue
        if begins_to_skip and noted.get("in_document"):
            continue  # a later byte may decide that the document is left out, with the part that was written
        if (noted.get("file", 0), noted.get("offset", 0)) <= (changed, 0):
            return noted
    return None


def _reads_alike(progress: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Tell whether all documents up to the progress are the same with other on_error and errors.

    They are the same if no document was skipped and no byte can have been replaced in another way.
    """
    return not progress.get("n_skipped") and before.get("errors") in ("strict", now["errors"])


def _explained(mismatch: Mismatch) -> str:
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
