"""Encoding of sequences of integers into a file of ids, in bounded memory; it cannot be resumed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

from fastbpe._core.ids.sequences import Sequences
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.encoding_run import BATCH_BYTES, BATCH_TEXTS, Batch, Encoded, Job, Run, facts
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.file_parts import stored_size
from fastbpe.corpus.sinks import Sink, check_absent
from fastbpe.errors import FormatError

_SYMBOL_BYTES = 4  # bytes of a symbol in memory
#: Function that encodes sequences with a number of threads: ids, and the end of each sequence after a first 0.
Merge = Callable[[Sequences, int], tuple[Any, Any]]


class _SequenceBatch(Batch):
    """Sequences that are encoded together."""

    def __init__(self, base_size: int) -> None:
        super().__init__(progress={"file": 0})
        self.sequences = Sequences(base_size, is_one=True)

    def encode(self, encoder: Any, n_threads: int) -> Encoded:
        """Encode all sequences; `encoder` is a `Merge`."""
        ids, ends = encoder(self.sequences, n_threads)
        return ids, ends, self.sequences.n_items * _SYMBOL_BYTES


def encode_sequences(
    source: Iterable[tuple[str, Any, int]],
    files: list[Path],
    out: Path,
    job: Job,
    base_size: int,
    merge: Merge,
    *,
    num_threads: int | None,
    progress: Progress,
    overwrite: bool,
) -> FilesSummary:
    """Encode each sequence as a document into a new file.

    Args:
        source: (place of the sequence for errors, the sequence, bytes of the files before the sequence's file) for
            each sequence.
        files: the files of the sequences, for the total of the progress bar.
        job: settings that decide the bytes of the output; its settings for reading have no effect.
        base_size: number of symbols; each must be below it.

    Raises:
        FormatError: a sequence contains something other than symbols; the message contains its place.
        FileExistsError: a file of the output exists, and overwrite is False.
    """
    started = time.perf_counter()
    settings = {"sequences": [[os.path.abspath(file), file.stat().st_mtime_ns] for file in files], **vars(job)}
    sink = Sink(out, job.dtype, settings, header=job.header)
    if not overwrite and not sink.is_finishing():
        check_absent(out)
    with sink.opened(overwrite=True) as done:
        if "finishing" in done:  # an earlier run was killed while it moved its files into place
            sink.move_into_place(done["finishing"])
        else:
            run = Run(job, sink, merge, usable_threads(num_threads), None)  # type: ignore[arg-type]  # see encode
            try:
                n_stored = sum(map(stored_size, files))
                done = run.go(_batches(source, base_size, n_stored), files, Reporter(progress))
            except BaseException:  # also Ctrl-C: no later run can resume from what this one wrote
                shutil.rmtree(sink.folder, ignore_errors=True)
                raise
            sink.finish(done, facts(job))
    seconds = time.perf_counter() - started
    return FilesSummary(out, sink.n_documents, sink.n_ids, done["n_bytes"], seconds)


def _batches(source: Iterable[tuple[str, Any, int]], base_size: int, n_stored: int) -> Generator[_SequenceBatch]:
    """Read all sequences, in batches. n_stored: bytes of all files."""
    batch = _SequenceBatch(base_size)
    for where, sequence, n_read in source:
        try:
            batch.sequences.add(sequence)
        except (ValueError, TypeError) as error:
            raise FormatError(f"{where}: {error}") from None
        batch.size, batch.n_stored = batch.sequences.n_items * _SYMBOL_BYTES, n_read
        if batch.size >= BATCH_BYTES or len(batch.sequences) >= BATCH_TEXTS:
            yield batch
            batch = _SequenceBatch(base_size)
    batch.n_stored = n_stored
    yield batch
