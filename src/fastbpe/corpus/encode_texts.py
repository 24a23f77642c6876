"""Encoding of texts from an iterable into a file of ids, in bounded memory; it cannot be resumed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastbpe._core.encode.encoder import Encoder
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.encode_files import (
    _BATCH_BYTES,
    _BATCH_TEXTS,
    FilesSummary,
    Job,
    _Batch,
    _facts,
    _Run,
)
from fastbpe.corpus.sinks import Sink
from fastbpe.corpus.sources import Document


def encode_texts(
    texts: Iterable[Document], path: Path, job: Job, encoder: Encoder, *, num_threads: int | None
) -> FilesSummary:
    """Encode each text as a document into a new file.

    Args:
        texts: the documents, each held whole.
        path: the output; its ending chooses the format. No other run may write there.
        job: what decides the bytes of the output; its separator and text_field have no effect.
        encoder: encodes texts.
        num_threads: as for `Tokenizer.encode_files`.

    Raises:
        TypeError: a document is neither str nor bytes; the message has its number.
    """
    started = time.perf_counter()
    sink = Sink(path, job.dtype, {})
    with sink.opened(overwrite=True):
        run = _Run(job, sink, encoder, usable_threads(num_threads), {})
        done = run.go(_batches(texts), (), Reporter(False))
        sink.finish(done, _facts(job))
    return FilesSummary(path, sink.n_documents, sink.n_ids, done["n_bytes"], time.perf_counter() - started)


def _batches(texts: Iterable[Document]) -> Iterator[_Batch]:
    batch = _Batch(progress={"file": 0})
    for number, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"document {number} is {type(text).__name__}, not str or bytes")
        batch.add([text], is_start=True, ends=True)
        if batch.size >= _BATCH_BYTES or len(batch.texts) >= _BATCH_TEXTS:
            yield batch
            batch = _Batch(progress={"file": 0})
    yield batch
