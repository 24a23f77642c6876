"""Writing of shards in tasks of an engine: one shard for each task."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pickle
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.own_places import own_folder, remove_leftovers
from fastbpe._utils.plurals import counted
from fastbpe.cluster.arrow_columns import rows_of, texts_of
from fastbpe.cluster.counting import ERROR, LASTING
from fastbpe.cluster.workers import tokenizer_of
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.remote import AnyPath, RemotePath, as_path
from fastbpe.corpus.sinks import check_suffix
from fastbpe.corpus.skipping import Skipped
from fastbpe.errors import FormatError
from fastbpe.id_files.parts import shard_path
from fastbpe.id_files.shards import rename_shard
from fastbpe.tokenizer.files.write_shard import write_shard
from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.tokenizer import Tokenizer

_OPTIONS = ("document_start", "document_end", "dtype", "on_error", "errors")
_MOVES_AT_ONCE = 16  # shards that are renamed at the same time: each waits several times for a remote file system


class Writing(NamedTuple):
    """Settings of the tasks that write shards; they travel to the workers.

    column: name of the column of texts.
    tokenizer: function that returns the pickled tokenizer in the process of the task.
    fingerprint: fingerprint of the tokenizer.
    out: the output that the shards belong to, as an absolute path or an address.
    n_shards: number of all shards; None: not known yet, and shard number n is written as the last of n + 1 shards.
    options: keyword arguments of `write_shard`.
    """

    column: str
    tokenizer: Callable[[], bytes]
    fingerprint: str
    out: str
    n_shards: int | None
    options: Mapping[str, Any]


def check_shards(tokenizer: Tokenizer, out: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Check the arguments of writing shards before any task starts. Raises the errors of a task."""
    check_tokenizers(tokenizer=tokenizer)
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"{name!r} is not an option of write_shards; its options are {', '.join(_OPTIONS)}")
    target = as_path(out)
    check_suffix(target)
    if isinstance(target, Path) and not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; create it first", str(target.parent))
    with tempfile.TemporaryDirectory() as folder:  # an empty shard raises the errors of a task
        write_shard(tokenizer, [], Path(folder, "shard" + Path(out).suffix), (0, 1), **options)


def write_texts(tables: Iterable[Any], how: Writing, number: int, where: str) -> tuple[int, bytes]:
    """Write the shard of one task. number: of the task and of its shard. where: name of its texts.

    Returns (number of the shard, JSON of its counts), or (ERROR, the pickled error).
    """
    skips = how.options.get("on_error") == "skip"
    texts = rows_of(tables, how.column) if skips else texts_of(tables, how.column, where, None)
    shard = number, number + 1 if how.n_shards is None else how.n_shards
    try:
        made = tokenizer_of(how.fingerprint, how.tokenizer)
        done = write_shard(made, texts, how.out, shard, num_threads=1, **how.options)
    except LASTING as error:
        return ERROR, pickle.dumps(error)
    skipped = done.n_skipped, [f"{where}: {named}" for named in done.skipped]
    return number, json.dumps([done.n_documents, done.n_ids, done.n_bytes, done.seconds, *skipped]).encode()


@contextlib.contextmanager
def removing_leftovers(out: str | os.PathLike[str], n_shards: int) -> Iterator[None]:
    """Remove the files that killed tasks left behind at the output `out`, even if the engine gives up."""
    target = as_path(out)
    try:
        yield
    finally:
        if isinstance(target, Path):
            remove_leftovers(shard_path(target, (number, n_shards)) for number in range(n_shards))


@contextlib.contextmanager
def unnumbered(out: AnyPath) -> Iterator[AnyPath]:
    """Yield a temporary place for shards while their number is unknown; `number_shards` moves them to the output.

    The place is in a temporary folder next to the output, which is removed at the end.
    """
    if isinstance(out, RemotePath):
        folder = out.with_name(f".{os.urandom(8).hex()}.fastbpe")
        try:
            yield RemotePath(f"{folder}/{out.name}")
        finally:
            folder.remove_folder()
        return
    with own_folder(os.path.abspath(out)) as name:
        os.chmod(name, stat.S_IMODE(os.stat(out.parent).st_mode))  # tasks may run as another user
        yield Path(name, out.name)


def number_shards(place: AnyPath, out: AnyPath, n_shards: int) -> None:
    """Number the shards that tasks wrote to `place` without knowing how many there are, and move them to `out`."""

    def move(number: int) -> None:
        rename_shard(shard_path(place, (number, number + 1)), out, (number, n_shards))

    with ThreadPoolExecutor(_MOVES_AT_ONCE) as pool:
        for _ in pool.map(move, range(n_shards)):  # raises the error of a move
            pass


def summary_of_rows(rows: Sequence[tuple[int, Any]], out: AnyPath, n_shards: int) -> FilesSummary:
    """Add up the results of `write_texts` for all shards; or raise an error of a task.

    Raises FormatError unless the engine ran one task for each of the shards 0 to n_shards - 1, and no other.
    """
    if errors := [pickle.loads(bytes(data)) for part, data in rows if part == ERROR]:
        raise min(errors, key=str)
    n_tasks = Counter(part for part, _ in rows)
    wrong = (n_tasks - Counter(range(n_shards))) + (Counter(range(n_shards)) - n_tasks)
    if wrong:
        shard = min(wrong)
        raise FormatError(
            f"{out}: the engine ran {counted(n_tasks[shard], 'task')} for shard {shard}, although it announced "
            f"one for each of the shards 0 to {n_shards - 1}; repartition the data first"
        )
    counts = [json.loads(bytes(data)) for _, data in sorted(rows, key=lambda row: row[0])]
    n_documents, n_ids, n_bytes, seconds, n_skipped, named = zip(*counts, strict=True)
    skipped = Skipped()
    for n, first in zip(n_skipped, named, strict=True):
        skipped.add(n, first)
    sums = (sum(n_documents), sum(n_ids), sum(n_bytes))
    slowest = max(seconds)
    return FilesSummary(cast("Path", out), *sums, slowest, skipped.n, (*skipped.first,))
