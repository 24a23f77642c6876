"""Encoding of texts from an iterable into a file of ids, in bounded memory; it cannot be resumed."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from pathlib import Path

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.text.utf8_text import n_valid
from fastbpe._utils.batches import items_in
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.encoding_run import Batch, Job, Run, facts
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.sinks import Sink
from fastbpe.corpus.source_kinds import CONVERT, Document
from fastbpe.errors import FormatError


def encode_texts(
    texts: Iterable[Document | None], path: Path, job: Job, encoder: Encoder, *, num_threads: int | None
) -> FilesSummary:
    """Encode each text as a document into a new file.

    Args:
        texts: the documents. None is an error, unless job.on_error is "skip".
        path: the output. No other run may write to it.
        job: its separator, text_field, format and header have no effect.

    Raises:
        TypeError: a document is not str or bytes; the message contains its number.
        FormatError: a document is not UTF-8, job.errors is "strict", and job.on_error is "raise"; the message
            contains its number.
    """
    started = time.perf_counter()
    sink = Sink(path, job.dtype, {})
    with sink.opened(overwrite=True):
        run = Run(job, sink, encoder, usable_threads(num_threads), None)
        done = run.go(_batches(texts, job), (), Reporter(False))
        sink.finish(done, facts(job))
    seconds = time.perf_counter() - started
    counts = (sink.n_documents, sink.n_ids, done["n_bytes"])
    return FilesSummary(path, *counts, seconds, done["n_skipped"], (*done["skipped"],))


def _batches(texts: Iterable[Document | None], job: Job) -> Generator[Batch]:
    batch = Batch(progress={"file": 0})
    for number, text in enumerate(items_in(texts)):
        try:
            batch.add([_checked(text, number, job)], is_start=True, ends=True)
        except FormatError as error:
            if job.on_error != "skip":
                raise
            batch.skipped(error)
        if batch.is_full:
            yield batch
            batch = Batch(progress={"file": 0})
    yield batch


def _checked(text: object, number: int, job: Job) -> Document:
    """Return a document, with invalid UTF-8 replaced if job.errors is "replace".

    Raises:
        TypeError: the document is not str or bytes.
        FormatError: it is not UTF-8, and job.errors is "strict"; or it is None, and job.on_error is "skip".
    """
    if isinstance(text, str):
        return text
    which = f"document {number} (counted from 0)"
    if text is None and job.on_error == "skip":
        raise FormatError(f"{which} is None (null)")
    if not isinstance(text, bytes):
        way_out = '; remove it, or pass on_error="skip"' if text is None else ""
        raise TypeError(f"{which} is {type(text).__name__}, not str or bytes{way_out}")
    if (at := n_valid(text)) == len(text):
        return text
    if job.errors == "replace":
        return text.decode(errors="replace")
    raise FormatError(f"{which} is not UTF-8: invalid byte 0x{text[at]:02x} at offset {at}; {CONVERT}")
