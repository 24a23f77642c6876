"""Counting and encoding of columns of Spark DataFrames, with the same results as on a single machine.

Needs `pip install "fastbpe-tokenizer[spark]"` (pyspark 4) on the driver and fastbpe with pyarrow on the executors.
Data is transferred as Arrow: `count_pieces` is a `mapInArrow` and a grouped reduce, `encode` a `mapInArrow`. A
tokenizer is broadcast, and each Python worker keeps it, with warm caches, from task to task.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fastbpe._utils.choices import OnError
from fastbpe.cluster.arrow_columns import Encoding, Special, check_column, check_encoding, check_output, with_ids
from fastbpe.cluster.counting import Counting, check_options, count_texts, counts_of_rows, reduce_rows
from fastbpe.cluster.workers import naming_lack_of_memory, worker_error
from fastbpe.cluster.writing import Writing, check_shards, removing_leftovers, summary_of_rows, write_texts
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.remote import absolute, as_path
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.piece_counts import PieceCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_pieces", "encode", "write_shards"]

_ROWS = "part int, data binary"  # schema of the rows that tasks return, in Spark's notation
_TEXT_TYPES = ("string", "varchar", "char", "binary", "void")  # void: the type of a column of nulls
_MAX_BITS = 10  # 1,024 parts of counts: each executor adds up some of them
_INTEGERS = ("int16", "int32", "int64")


def count_pieces(df: DataFrame, column: str, *, on_error: OnError = "raise", **options: Any) -> PieceCounts:
    """Count the pieces of a column of texts; the counts equal `fastbpe.count_pieces` on its rows.

    One task counts each partition. The executors add up the counts, partitioned by hash, and the driver collects
    the sums. For each distinct piece, the driver needs 32 bytes plus the length of the piece. Neither the number
    of partitions nor the order in which their tasks end changes the result. The order of the pieces, which
    `train(ties="first")` uses, is the order of the rows in the DataFrame.

    Args:
        df: DataFrame – the texts; each row is a document.
        column: str – name of the column, of strings or of binary that is UTF-8.
        on_error: str – "skip": leave out null rows, and count them in `PieceCounts.n_skipped`; "raise": they raise
            FormatError.
        **options: keyword arguments of `fastbpe.count_pieces`, such as mode, pattern, special_tokens, errors and
            max_memory_bytes (of one task). num_threads defaults to 1.

    Raises:
        ImportError: pyspark 4 or later is not installed.
        TypeError: the column contains neither strings nor binary.
        ValueError: there is no such column, or an option has an invalid value.
        FormatError: a row is null, and on_error is "raise".
        FastbpeError: as in `fastbpe.count_pieces`.
        WorkerError: Spark gave up a task because its Python worker died at each try.

    >>> import fastbpe.spark
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()
    >>> df = spark.createDataFrame([("low lower",), ("lowest",)], "text string")  # or spark.read.parquet(…)
    >>> counts = fastbpe.spark.count_pieces(df, "text", pattern="o200k")
    >>> counts == fastbpe.count_pieces(["low lower", "lowest"], pattern="o200k")
    True
    >>> fastbpe.train(counts, vocab_size=258, progress=False).encode("low")
    [257]
    """
    _require_pyspark()
    _check_text_column(df, column)
    options = {"num_threads": 1, **options}
    empty = check_options(options, on_error)
    texts = df.select(_quoted(column))
    # As many parts as partitions, or more: `write_parts` needs at least 1 bit.
    bits = min(max(_n_partitions(df) - 1, 1).bit_length(), _MAX_BITS)
    seed = int.from_bytes(os.urandom(8), "little")  # random: no corpus can put most pieces into one part
    how = Counting(column, options, on_error == "skip", bits, seed)
    rows = texts.mapInArrow(partial(_count, how), _ROWS).groupBy("part").applyInArrow(_reduce, _ROWS)
    with _naming_dead_workers("count_pieces"):
        return counts_of_rows(((row.part, row.data) for row in rows.toLocalIterator()), empty)


def encode(
    df: DataFrame,
    column: str,
    tokenizer: Tokenizer,
    *,
    output: str = "input_ids",
    dtype: Literal["int16", "int32", "int64"] = "int32",
    allowed_special: Special = frozenset(),
    disallowed_special: Special = (),
) -> DataFrame:
    """Add a column of ids to a DataFrame: an array for each text, null for a null.

    The result is a lazy DataFrame. Rows go from Arrow buffers to Arrow buffers; no text or id becomes a Python
    object.

    Args:
        df: DataFrame – the texts.
        column: str – name of the column of texts.
        tokenizer: Tokenizer – of any mode.
        output: str – name of the new column.
        dtype: str – "int32", "int16" or "int64"; Spark has no unsigned integers.
        allowed_special, disallowed_special: as in `Tokenizer.encode`; by default, special tokens in texts are
            plain text, because the texts of a corpus are not trusted.

    Raises:
        ImportError: pyspark 4 or later is not installed.
        TypeError: the column contains neither strings nor binary, or tokenizer is not a Tokenizer.
        ValueError: there is no such column, the new column already exists, the dtype is not one of the three, or
            an argument for special tokens is invalid.
        A disallowed special token, or an id too large for the dtype, ends the job with Spark's PythonException.

    >>> import fastbpe.spark
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()
    >>> df = spark.createDataFrame([("low lower",), (None,)], "text string")  # or spark.read.parquet(…)
    >>> tokenizer = fastbpe.train(["low lower lowest"], vocab_size=258, progress=False)  # or fastbpe.load(…)
    >>> ids = fastbpe.spark.encode(df, "text", tokenizer)  # ids.write.parquet("ids/") stores them
    >>> [row.input_ids for row in ids.collect()]
    [[257, 32, 257, 101, 114], None]
    """
    _require_pyspark()
    from pyspark.sql.types import ArrayType, IntegerType, LongType, ShortType, StructField, StructType

    _check_text_column(df, column)
    check_output(output, df.columns)
    if dtype not in _INTEGERS:
        raise ValueError(f"dtype={dtype!r}: choose a type of Spark: {', '.join(map(repr, _INTEGERS))}")
    check_encoding(tokenizer, dtype, allowed_special, disallowed_special)
    kind = {"int16": ShortType, "int32": IntegerType, "int64": LongType}[dtype]()
    ids = ArrayType(kind, containsNull=False)
    schema = StructType([*df.schema.fields, StructField(output, ids, nullable=True)])
    special = _plain(allowed_special), _plain(disallowed_special)
    how = Encoding(column, output, _sent(df, tokenizer), tokenizer.fingerprint, dtype, *special)
    return df.mapInArrow(partial(_encode, how), schema)


def write_shards(
    df: DataFrame, column: str, tokenizer: Tokenizer, out: str | os.PathLike[str], **options: Any
) -> FilesSummary:
    """Encode a column of texts into shards of ids on a file system that all executors share.

    Each partition becomes a shard with a manifest, as with `fastbpe.write_shard`: the third of ten is
    OUT-00002-of-00010.bin. A task that runs twice writes the same bytes. `fastbpe.open_ids` reads local .bin, .npy
    and .idx shards, and `fastbpe.merge_shards` joins local shards of any format. Use `df.repartition(n)` for n
    shards.

    Args:
        df: DataFrame – the texts; each row is a document.
        column: str – name of the column of texts.
        tokenizer: Tokenizer – of any mode.
        out: str or PathLike – the output: "ids/train.bin" for ids/train-00000-of-00010.bin and so on. It may be
            remote, if all executors have fsspec and the package for its scheme.
        **options: document_start, document_end, dtype, on_error and errors of `fastbpe.write_shard`.

    Returns:
        FilesSummary – of all shards together.

    Raises:
        ImportError: pyspark 4 or later is not installed.
        TypeError: the column contains neither strings nor binary, tokenizer is not a Tokenizer, or there is no
            such option.
        ValueError: there is no such column, the extension of out is not one for ids (.bin, .npy, .parquet, .arrow
            or .idx), or an option has an invalid value.
        FormatError: a row is null, and on_error is "raise".
        FileNotFoundError: the folder of the output does not exist.
        WorkerError: Spark gave up a task, because its Python worker died at each try.

    >>> import fastbpe.spark, tempfile
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()
    >>> df = spark.createDataFrame([("low lower",), ("lowest",)], "text string")
    >>> tokenizer = fastbpe.train(["low lower lowest"], vocab_size=258, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = fastbpe.spark.write_shards(df.repartition(2), "text", tokenizer, f"{folder}/train.bin")
    ...     len(fastbpe.open_ids(folder).paths), summary.n_documents
    (2, 2)
    """
    _require_pyspark()
    _check_text_column(df, column)
    check_shards(tokenizer, out, options)
    texts = df.select(_quoted(column))
    n_shards = max(_n_partitions(df), 1)  # no partitions, as of an empty RDD: one empty shard
    target = as_path(out)
    how = Writing(column, _sent(df, tokenizer), tokenizer.fingerprint, absolute(target), n_shards, options)
    what = f"{os.fspath(out)}, where task n of the last stage writes shard n of {n_shards}"
    with removing_leftovers(out, n_shards), _naming_dead_workers(what):
        rows = [(row.part, row.data) for row in texts.mapInArrow(partial(_write, how), _ROWS).collect()]
    return summary_of_rows(rows or [write_texts([], how, 0, "no partitions")], target, n_shards)


# In tasks


def _count(how: Counting, batches: Iterable[Any]) -> Iterator[Any]:
    number = _task_number()
    where = f"partition {number}"
    with naming_lack_of_memory(where):
        yield from map(_row, count_texts(batches, how, number, where))


def _reduce(table: Any) -> Any:
    import pyarrow

    part = table.column("part")[0].as_py()
    data = ((0, cell.as_buffer()) for cell in table.column("data"))  # 0: positions contain the task's number
    with naming_lack_of_memory(f"part {part} of the counts", "pieces"):
        found = list(reduce_rows(part, data))
        columns = {"part": pyarrow.array([part] * len(found), "int32"), "data": found}
        return pyarrow.table(columns, schema=_schema())


def _encode(how: Encoding, batches: Iterable[Any]) -> Iterator[Any]:
    with naming_lack_of_memory(f"partition {_task_number()}"):
        for batch in batches:
            yield with_ids(batch, how)


def _write(how: Writing, batches: Iterable[Any]) -> Iterator[Any]:
    number = _task_number()
    where = f"partition {number}"
    with naming_lack_of_memory(f"{where}, shard {number} of {how.n_shards}"):
        yield _row(write_texts(batches, how, number, where))


def _task_number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _schema() -> Any:
    import pyarrow

    return pyarrow.schema([("part", pyarrow.int32()), ("data", pyarrow.binary())])


def _row(row: tuple[int, bytes]) -> Any:
    import pyarrow

    arrays = [pyarrow.array([row[0]], "int32"), pyarrow.array([row[1]], pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=_schema())


# On the driver


def _require_pyspark() -> None:
    try:
        import pyspark
    except ImportError:
        raise ImportError('fastbpe.spark needs pyspark: pip install "fastbpe-tokenizer[spark]"') from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise ImportError(f"fastbpe.spark needs pyspark 4 or later; this is {pyspark.__version__}")


def _check_text_column(df: Any, column: str) -> None:
    check_column(column, df.columns)
    kind = df.schema[column].dataType.simpleString()
    if kind.split("(")[0].split(" ")[0] not in _TEXT_TYPES:  # "varchar(9)"; "string collate UTF8_LCASE"
        raise TypeError(f"column {column!r} has the type {kind}; it must contain strings, or UTF-8 as binary")


def _quoted(column: str) -> str:
    """Quote a name so that Spark does not read a dot in it as access to a field."""
    return "`{}`".format(column.replace("`", "``"))


def _n_partitions(df: Any) -> int:
    return int(df.rdd.getNumPartitions())


def _sent(df: Any, tokenizer: Tokenizer) -> Callable[[], bytes]:
    """Send a tokenizer to the executors; return the function that returns its pickle there."""
    broadcast = df.sparkSession.sparkContext.broadcast(pickle.dumps(tokenizer))
    return partial(_value_of, broadcast)


def _value_of(broadcast: Any) -> bytes:
    value: bytes = broadcast.value
    return value


@contextlib.contextmanager
def _naming_dead_workers(what: str) -> Iterator[None]:
    """Context manager that adds advice to the error of a task whose Python worker died at each try.

    Args:
        what: purpose of the tasks.

    Raises WorkerError if Spark gave up such a task.
    """
    try:
        yield
    except Exception as error:  # an exception of py4j or pyspark
        found = re.search(r"(Task \d+ in stage [\d.]+) .*Python worker exited unexpectedly", str(error))
        if not found:
            raise
        raise worker_error(f"{what}: {found[1]}", "Spark") from error


def _plain(special: Special) -> Special:
    """Return an argument for special tokens in a form that Spark can pickle."""
    return special if isinstance(special, str) else frozenset(special)
