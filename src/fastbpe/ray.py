"""Counting and encoding of columns of Ray datasets, with the same results as on a single machine.

Needs `pip install "fastbpe-tokenizer[ray]"`, on every node. `count_pieces` is a `map_batches` whose results are
added up as a tree. `encode` is a `map_batches` with actors, each with a tokenizer whose caches stay warm.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from fastbpe._utils.choices import AnyIdType, OnError
from fastbpe._utils.plurals import counted
from fastbpe.cluster.arrow_columns import (
    Encoding,
    Special,
    check_column,
    check_encoding,
    check_is_text,
    check_output,
    with_ids,
)
from fastbpe.cluster.counting import NUMBERS, Counting, check_options, count_texts, counts_of_rows, reduce_rows
from fastbpe.cluster.workers import naming_lack_of_memory, worker_error
from fastbpe.cluster.writing import Writing, check_shards, number_shards, summary_of_rows, unnumbered, write_texts
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.remote import absolute, as_path
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.piece_counts import PieceCounts

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["count_pieces", "encode", "write_shards"]

_FAN_IN = 8  # results that a task adds up
_BITS = 4  # counts come in 16 parts, so that a cell of a table stays small
# Low bits of a result's number: its place in its table. Ray Data joins the results of a task, one for each block,
# into few tables. A task with more results would read over 512 GiB, in Ray's usual blocks of 128 MiB. The other
# bits, and `counting.PLACE_BITS`, leave 20 bits for the number of the table.
_RESULT_BITS = 12
_MAX_RETRIES = 3  # retries of a task, as by default in Spark
_END_SECONDS = 60  # to wait for tasks that were cancelled
_Rows = list[tuple[int, bytes]]


def count_pieces(dataset: Dataset, column: str, *, on_error: OnError = "raise", **options: Any) -> PieceCounts:
    """Count the pieces of a column of texts, with the arguments and the result of `fastbpe.spark.count_pieces`.

    Blocks are counted in the order of arrival. Tasks add up eight results at a time until one is left, with all
    distinct pieces. The number and order of the blocks do not change the result. The order of the pieces, which
    `train(ties="first")` uses, is the order of the rows in the dataset.

    Args:
        dataset: Dataset – the texts; each row is a document.
        column, on_error, **options: as in `fastbpe.spark.count_pieces`.

    Raises:
        ImportError: ray is not installed.
        TypeError, ValueError, FastbpeError: as in `fastbpe.spark.count_pieces`.

    >>> import fastbpe.ray, ray.data
    >>> dataset = ray.data.from_items([{"text": "low lower"}, {"text": "lowest"}])  # or read_parquet(…)
    >>> counts = fastbpe.ray.count_pieces(dataset, "text", pattern="o200k")
    >>> counts == fastbpe.count_pieces(["low lower", "lowest"], pattern="o200k")
    True
    >>> fastbpe.train(counts, vocab_size=258, progress=False).encode("low")
    [257]
    """
    ray = _require_ray()
    _check_text_column(dataset, column)
    options = {"num_threads": 1, **options}
    empty = check_options(options, on_error)
    # A fixed seed: each task adds up all parts, so it does not matter which pieces share one.
    how = Counting(column, options, on_error == "skip", bits=_BITS, seed=0)
    results = dataset.select_columns([column]).map_batches(
        partial(_count, how), batch_format="pyarrow", batch_size=None, zero_copy_batch=True
    )
    number, add = (_remote(ray, task) for task in (_number, _add_up))
    with _trying_again(results), _in_order(results):
        tables = list(results.to_arrow_refs())  # in the order of the rows
    sums = [number.remote(i, table) for i, table in enumerate(tables)]
    while len(sums) > 1:
        sums = [add.remote(*sums[i : i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
    rows: _Rows = _result(ray, sums[0], "count_pieces: the sum of the counts") if sums else []
    return counts_of_rows(rows, empty)


def encode(
    dataset: Dataset,
    column: str,
    tokenizer: Tokenizer,
    *,
    output: str = "input_ids",
    dtype: AnyIdType = "uint32",
    allowed_special: Special = frozenset(),
    disallowed_special: Special = (),
    concurrency: int | tuple[int, int] | None = None,
) -> Dataset:
    """Add a column of ids to a dataset: a list for each text, null for a null.

    The result is a lazy, streaming dataset. Rows go from Arrow buffers to Arrow buffers; no text or id becomes a
    Python object.

    Args:
        dataset: Dataset – the texts.
        dtype: str – integer dtype of the ids.
        concurrency: int or (int, int) – number of actors, or (minimum, maximum). None: 1 to the number of CPUs
            of the cluster.
        column, tokenizer, output, allowed_special, disallowed_special: as in `fastbpe.spark.encode`.

    Raises:
        ImportError: ray is not installed.
        TypeError, ValueError: as in `fastbpe.spark.encode`. An error in a task is raised as Ray's RayTaskError.

    >>> import fastbpe.ray, ray.data
    >>> dataset = ray.data.from_items([{"text": "low lower"}])  # or read_parquet(…)
    >>> tokenizer = fastbpe.train(["low lower lowest"], vocab_size=258, progress=False)  # or fastbpe.load(…)
    >>> ids = fastbpe.ray.encode(dataset, "text", tokenizer)  # ids.write_parquet("ids/") stores them
    >>> list(ids.take_all()[0]["input_ids"])
    [257, 32, 257, 101, 114]
    """
    ray = _require_ray()
    check_output(output, _check_text_column(dataset, column))
    check_encoding(tokenizer, dtype, allowed_special, disallowed_special)
    sent = partial(_value_of, ray.put(pickle.dumps(tokenizer)))
    how = Encoding(column, output, sent, tokenizer.fingerprint, dtype, allowed_special, disallowed_special)
    if concurrency is None:
        concurrency = 1, max(int(ray.cluster_resources().get("CPU", 1)), 1)
    least, most = (concurrency, concurrency) if hasattr(concurrency, "__index__") else concurrency
    return dataset.map_batches(
        _EncodingActor,
        fn_constructor_args=(how,),
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
    )


def write_shards(
    dataset: Dataset, column: str, tokenizer: Tokenizer, out: str | os.PathLike[str], **options: Any
) -> FilesSummary:
    """Encode a column of texts into shards of ids on a file system that all nodes share.

    Each block becomes a shard, as each partition does in `fastbpe.spark.write_shards`. Use
    `dataset.repartition(n)` for n shards. The dataset streams: tasks write blocks as they come, as many at a time
    as the cluster has CPUs, and Ray's object store keeps a block only until a task has written it. The name of a
    shard contains the total number of shards, which is known only at the end. Until then the shards are in a
    hidden folder next to the output; if a task fails, none appears.

    Args:
        dataset: Dataset – the texts; each row is a document.
        column, tokenizer, out, **options: as in `fastbpe.spark.write_shards`.

    Returns:
        FilesSummary – of all shards together.

    Raises:
        ImportError: ray is not installed.
        TypeError, ValueError, FormatError, FileNotFoundError, WorkerError: as in `fastbpe.spark.write_shards`.
        MemoryError: a task had too little memory at each try; the message names its block and shard.

    >>> import fastbpe.ray, ray.data, tempfile
    >>> dataset = ray.data.from_items([{"text": "low lower"}, {"text": "lowest"}])
    >>> tokenizer = fastbpe.train(["low lower lowest"], vocab_size=258, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = fastbpe.ray.write_shards(dataset.repartition(2), "text", tokenizer, f"{folder}/train.bin")
    ...     len(fastbpe.open_ids(folder).paths), summary.n_documents
    (2, 2)
    """
    ray = _require_ray()
    _check_text_column(dataset, column)
    check_shards(tokenizer, out, options)
    sent, target = partial(_value_of, ray.put(pickle.dumps(tokenizer))), as_path(out)
    with unnumbered(target) as place:
        how = Writing(column, sent, tokenizer.fingerprint, absolute(place), None, options)
        rows = _written(ray, dataset.select_columns([column]), how, os.fspath(out))
        if not rows:
            rows = [write_texts([], how, 0, "no blocks")]
        summary = summary_of_rows(rows, target, len(rows))
        number_shards(place, target, len(rows))
    return summary


# In tasks


def _count(how: Counting, batch: Any) -> Any:
    import pyarrow

    with naming_lack_of_memory(_name(batch)):
        # 0: Ray Data does not tell the number of the block; `_number` adds it.
        rows = list(count_texts([batch], how, 0, _name(batch)))
        parts, data = [part for part, _ in rows], [data for _, data in rows]
        return pyarrow.table({"part": pyarrow.array(parts, "int32"), "data": pyarrow.array(data, "large_binary")})


def _number(table_number: int, table: Any) -> _Rows:
    """Add up the rows of a table of counts, and set the positions of the pieces in the dataset.

    table_number: the number of the table in the dataset.
    table: concatenated results of `_count`; each result ends with a row of numbers, or is one row with an error.
    """
    if not table.num_rows:  # of a dataset without rows; it has no columns either
        return []
    number, numbered = table_number << _RESULT_BITS, []
    for part, data in zip(table.column("part").to_pylist(), table.column("data"), strict=True):
        if number >> _RESULT_BITS > table_number:  # it would be a number of the next table, too
            raise ValueError(f"a task had over {1 << _RESULT_BITS:,} blocks: repartition the dataset into fewer")
        numbered.append((part, number, data.as_buffer()))
        number += part == NUMBERS  # the next row belongs to the next result
    return _reduced(numbered)


def _add_up(*results: _Rows) -> _Rows:
    """Add up results of `_number` or of this function, in which positions are set."""
    return _reduced((part, 0, data) for rows in results for part, data in rows)


def _reduced(rows: Iterable[tuple[int, int, Any]]) -> _Rows:
    """Add up the rows of each part. rows: (part, number, data); numbers as for `cluster.counting.add_up`."""
    parts: dict[int, list[tuple[int, Any]]] = {}
    for part, number, data in rows:
        parts.setdefault(part, []).append((number, data))
    with naming_lack_of_memory("the sum of the counts", "pieces"):
        return [(part, row) for part, of_part in parts.items() for row in reduce_rows(part, of_part)]


def _write(how: Writing, number: int, block: Any) -> tuple[int, bytes]:
    import pyarrow

    where = f"block {number}"
    with naming_lack_of_memory(f"{where}, shard {number}"):
        if not isinstance(block, pyarrow.Table):  # a pandas block
            from ray.data.block import BlockAccessor

            block = BlockAccessor.for_block(block).to_arrow()
        return write_texts([block], how, number, where)


class _EncodingActor:
    def __init__(self, how: Encoding) -> None:
        self._how = how

    def __call__(self, table: Any) -> Any:
        with naming_lack_of_memory(_name(table)):
            return with_ids(table, self._how)


def _name(block: Any) -> str:
    """Name a block by its size, because Ray Data does not tell a function the number of its block."""
    return f"a block of {counted(block.num_rows, 'row')} and {counted(block.nbytes, 'byte')}"


# On the driver


def _require_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise ImportError('fastbpe.ray needs ray: pip install "fastbpe-tokenizer[ray]"') from None
    return ray


def _remote(ray: Any, task: Any, **options: Any) -> Any:
    """Return a remote function that Ray retries after any error, as Spark does."""
    return ray.remote(max_retries=_MAX_RETRIES, retry_exceptions=True, **options)(task)


def _written(ray: Any, dataset: Any, how: Writing, out: str) -> _Rows:
    """Let tasks write the blocks of a dataset as they arrive; return their results.

    The tasks request no CPU, because the tasks that produce the blocks may occupy all CPUs until the last block is
    taken.

    how: settings of the tasks.
    out: name of the output, for errors.
    """
    write = _remote(ray, _write, num_cpus=0)
    waiting: dict[Any, int] = {}
    rows: _Rows = []

    def wait() -> None:
        (done,), _ = ray.wait([*waiting], num_returns=1)
        number = waiting.pop(done)
        rows.append(_result(ray, done, f"{out}: block {number}, shard {number}"))

    try:
        with _in_order(dataset):
            for number, block in enumerate(_streamed(dataset)):
                waiting[write.remote(how, number, block)] = number
                if len(waiting) >= ray.cluster_resources().get("CPU", 1):  # a cluster may grow meanwhile
                    wait()
        while waiting:
            wait()
    finally:  # tasks still run after an error, and their folder is about to be removed
        for reference in waiting:
            ray.cancel(reference)
        if waiting:
            ray.wait([*waiting], num_returns=len(waiting), timeout=_END_SECONDS)
    return rows


def _streamed(dataset: Any) -> Iterator[Any]:
    """Execute a dataset, and yield references to its blocks as they are produced."""
    for bundle in dataset.iter_internal_ref_bundles():
        yield from bundle.block_refs


def _result(ray: Any, reference: Any, what: str) -> Any:
    """Wait for the result of a task.

    Args:
        reference: reference to the result.
        what: purpose of the task.

    Raises WorkerError if Ray gave up the task because its worker died at each try.
    """
    try:
        return ray.get(reference)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        raise worker_error(what, "Ray") from error


def _check_text_column(dataset: Any, column: str) -> list[str]:
    """Check that a column contains texts, and return the names of all columns."""
    schema = dataset.schema()
    names = [] if schema is None else list(schema.names)
    check_column(column, names)
    kind = schema.types[names.index(column)]
    if hasattr(kind, "id"):  # an Arrow type; for pandas blocks, the tasks check the rows
        check_is_text(kind, column)
    return names


def _in_order(dataset: Any) -> contextlib.AbstractContextManager[None]:
    """Context manager in which a dataset is executed with its blocks in order."""
    return _with_settings(dataset.context.execution_options, preserve_order=True)


def _trying_again(dataset: Any) -> contextlib.AbstractContextManager[None]:
    """Context manager in which Ray Data retries blocks that ran out of memory, as often as other tasks.

    Versions of Ray without the settings `retried_map_errors` and `max_map_retries` do not retry.
    """
    context = dataset.context
    errors, n_times = (getattr(context, name, None) for name in ("retried_map_errors", "max_map_retries"))
    if errors is None or n_times is None or errors is True or n_times:  # the caller has decided
        return contextlib.nullcontext()
    return _with_settings(
        context, retried_map_errors=[*(errors or ()), "MemoryError"], max_map_retries=_MAX_RETRIES
    )


@contextlib.contextmanager
def _with_settings(settings: Any, **values: Any) -> Iterator[None]:
    """Context manager that sets attributes of an object, and restores them at the end."""
    before = {name: getattr(settings, name) for name in values}
    for name, value in values.items():
        setattr(settings, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)


def _value_of(reference: Any) -> bytes:
    import ray

    value: bytes = ray.get(reference)
    return value
