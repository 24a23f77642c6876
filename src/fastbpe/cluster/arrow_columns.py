"""Columns of Arrow tables as texts: checking, reading as documents, encoding into a column of ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.optional_imports import require_pyarrow_for
from fastbpe.cluster.workers import tokenizer_of
from fastbpe.corpus.table_files import as_bytes, is_text
from fastbpe.errors import FormatError
from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.tokenizer import Tokenizer

Special = str | Collection[str]


class Encoding(NamedTuple):
    """Settings of the tasks that encode a column; they travel to the workers.

    column, output: names of the columns of texts and of ids.
    tokenizer: function that returns the pickled tokenizer in the process of the task.
    fingerprint: fingerprint of the tokenizer.
    dtype: integer dtype of the ids.
    allowed_special, disallowed_special: as in `Tokenizer.encode`.
    """

    column: str
    output: str
    tokenizer: Callable[[], bytes]
    fingerprint: str
    dtype: str
    allowed_special: Special
    disallowed_special: Special


def check_output(output: str, names: Collection[str]) -> None:
    """Raise ValueError if a table already has a column with the name of the new column."""
    if output in names:
        raise ValueError(f"output={output!r}: the table already has a column of that name; choose another")


def check_encoding(
    tokenizer: Tokenizer, dtype: str, allowed_special: Special, disallowed_special: Special
) -> None:
    """Check the arguments of encoding before any task starts. Raises the TypeError or ValueError of a task."""
    check_tokenizers(tokenizer=tokenizer)
    tokenizer.to_arrow([""], dtype=dtype, allowed_special=allowed_special, disallowed_special=disallowed_special)


def check_column(column: str, names: Collection[str]) -> None:
    """Raise TypeError if the name of a column is not a str, ValueError if the table has no such column."""
    if not isinstance(column, str):
        raise TypeError(f"column must be a name, not {type(column).__name__}")
    if column not in names:
        raise ValueError(f"there is no column {column!r}; the table has {', '.join(map(repr, names))}")


def check_is_text(kind: Any, column: str) -> None:
    """Raise TypeError unless an Arrow type is string, binary (with UTF-8), a dictionary of these, or null."""
    if not is_text(kind) and str(kind) != "null":
        raise TypeError(f"column {column!r} has the type {kind}; it must contain strings, or UTF-8 as binary")


def texts_of(tables: Iterable[Any], column: str, where: str, skip: Callable[[], object] | None) -> Iterator[bytes]:
    """Yield each row of a column as a document. tables: Arrow tables or record batches.

    where: name of the tables, such as a partition, for errors.
    skip: function to call for each row without text, which is then skipped; None: raise an error.

    Raises FormatError if a row is null, TypeError if the column does not contain strings.
    """
    for number, row in enumerate(rows_of(tables, column)):
        if row is not None:
            yield row
        elif skip is not None:
            skip()
        else:
            raise FormatError(
                f'column {column!r}: row {number} of {where} is null; remove such rows, or pass on_error="skip"'
            )


def rows_of(tables: Iterable[Any], column: str) -> Iterator[bytes | None]:
    """Yield each row of a column of texts; None for a null. tables: Arrow tables or record batches.

    Raises TypeError if the column does not contain strings.
    """
    pyarrow = require_pyarrow_for("a column of texts")
    for table in tables:
        texts = table.column(column)
        check_is_text(texts.type, column)
        for chunk in texts.chunks if isinstance(texts, pyarrow.ChunkedArray) else [texts]:
            yield from as_bytes(pyarrow, chunk).to_pylist()


def with_ids(table: Any, encoding: Encoding) -> Any:
    """Return an Arrow table or record batch with a column of ids added at the end; a null text has null ids.

    Raises TypeError if the column does not contain strings, and the errors of `Tokenizer.encode_batch`.
    """
    texts = table.column(encoding.column)
    check_is_text(texts.type, encoding.column)
    ids = tokenizer_of(encoding.fingerprint, encoding.tokenizer).to_arrow(
        texts,
        dtype=encoding.dtype,
        num_threads=1,
        allowed_special=encoding.allowed_special,
        disallowed_special=encoding.disallowed_special,
    )
    pyarrow = require_pyarrow_for("encoding a column")
    if isinstance(table, pyarrow.RecordBatch):  # of Spark, which accepts only the type of its schema
        wanted = pyarrow.list_(pyarrow.from_numpy_dtype(encoding.dtype))
        arrays = [*table.columns, ids if ids.type == wanted else ids.cast(wanted)]
        return pyarrow.RecordBatch.from_arrays(arrays, names=[*table.schema.names, encoding.output])
    return table.append_column(encoding.output, ids)
