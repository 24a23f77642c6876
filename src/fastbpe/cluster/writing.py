"""Writing of shards in tasks of an engine: one shard a task."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastbpe.cluster.counting import ERROR, LASTING
from fastbpe.cluster.workers import tokenizer_of
from fastbpe.corpus.encode_files import FilesSummary
from fastbpe.errors import FormatError
from fastbpe.tokenizer.tokenizer import Tokenizer

_OPTIONS = ("document_start", "document_end", "dtype")


def check_shards(tokenizer: Tokenizer, out: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Check the arguments of writing shards before any task starts.

    Raises:
        TypeError: the tokenizer is none, or there is no such option.
        ValueError, SpecialTokenError: an option has no such value.
    """
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"tokenizer must be a Tokenizer, not {type(tokenizer).__name__}: fastbpe.load makes one")
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"{name!r} is no option of write_shards; it has {', '.join(_OPTIONS)}")
    with tempfile.TemporaryDirectory() as folder:  # all that a task would refuse
        tokenizer.write_shard([], Path(folder, "shard" + Path(out).suffix), (0, 1), **options)


def write_part(
    texts: Iterable[bytes],
    tokenizer: Callable[[], bytes],
    fingerprint: str,
    out: str,
    shard: tuple[int, int],
    options: Mapping[str, Any],
) -> tuple[int, bytes]:
    """Write the shard of one task.

    Args:
        texts: the documents.
        tokenizer, fingerprint: as of `tokenizer_of`.
        out, shard, options: as of `Tokenizer.write_shard`.

    Returns:
        (number of the shard, JSON of its counts), or (ERROR, the pickled error).
    """
    made = tokenizer_of(fingerprint, tokenizer)
    try:
        done = made.write_shard(texts, out, shard, num_threads=1, **options)
    except LASTING as error:
        return ERROR, pickle.dumps(error)
    return shard[0], json.dumps([done.n_documents, done.n_ids, done.n_bytes, done.seconds]).encode()


def summary_of_rows(rows: Sequence[tuple[int, Any]], out: Path, n_shards: int) -> FilesSummary:
    """Add up what tasks returned.

    Args:
        rows: what `write_part` returned for each shard.
        out: the output that the shards belong to.
        n_shards: int – how many there must be.

    Raises:
        FastbpeError, TypeError, ValueError: a task returned an error.
        FormatError: the engine ran tasks for other shards.
    """
    if errors := [pickle.loads(bytes(data)) for part, data in rows if part == ERROR]:
        raise min(errors, key=str)
    if sorted(part for part, _ in rows) != list(range(n_shards)):
        raise FormatError(
            f"{out}: the engine ran {len(rows)} tasks, not {n_shards} as it had said; repartition the data first"
        )
    counts = [json.loads(bytes(data)) for _, data in rows]
    n_documents, n_ids, n_bytes = (sum(column) for column in list(zip(*counts, strict=True))[:3])
    return FilesSummary(out, n_documents, n_ids, n_bytes, max(row[3] for row in counts))
