"""Texts of parquet files, some rows at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import OTHER_FIELD, Skip
from fastbpe.errors import FormatError

_BUFFER_BYTES = 1 << 20  # bytes read at a time
_ROWS = 256  # rows read at a time; a row may be a whole book


def count_rows(path: AnyPath) -> int:
    """Return the number of rows of a file, or raise FormatError."""
    pyarrow = require_pyarrow(path)
    try:
        with contextlib.nullcontext(path) if isinstance(path, Path) else path.open() as opened:
            return pyarrow.parquet.read_metadata(opened).num_rows  # type: ignore[no-any-return]
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise FormatError(f"{path}: not a parquet file that can be read: {error}; get it again") from None


def read(
    path: AnyPath, field: str, first_row: int, skip: Skip | None, last_row: int | None = None
) -> Iterator[tuple[list[str], int, int]]:
    """Read the texts of a column of strings.

    Args:
        path: the file.
        field: name of the column.
        first_row: row to begin with.
        skip: called with the error of each row without text; None: raise the error.
        last_row: row to end before; None: the end.

    Yields:
        (texts, row after them, bytes of the file up to there, by its share of rows).

    Raises:
        FormatError: the file is not parquet, or has no such column of text.
    """
    pyarrow = require_pyarrow(path)
    size = path.stat().st_size
    try:
        # Without pre_buffer, which reads whole row groups ahead: one may be as large as the file.
        with (
            contextlib.nullcontext(path) if isinstance(path, Path) else path.open() as opened,
            pyarrow.parquet.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file,
        ):
            schema = file.schema_arrow
            if field not in schema.names:
                raise FormatError(
                    f"{path}: no column {field!r}; its columns are {', '.join(map(repr, schema.names))}; "
                    + OTHER_FIELD
                )
            if schema.names.count(field) > 1:
                raise FormatError(f"{path}: several columns {field!r}; leave one, or rename the others")
            kind = schema.field(field).type
            if str(kind) not in ("string", "large_string", "string_view"):
                raise FormatError(f"{path}: its column {field!r} is {kind}, not string")
            n_rows = file.metadata.num_rows
            row, groups = 0, list(range(file.num_row_groups))
            while groups and row + (n_here := file.metadata.row_group(groups[0]).num_rows) <= first_row:
                row += n_here
                groups.pop(0)
            for batch in file.iter_batches(_ROWS, row_groups=groups, columns=[field]) if groups else ():
                last = batch.num_rows if last_row is None else min(batch.num_rows, last_row - row)
                texts = batch.column(field).to_pylist()[max(first_row - row, 0) : max(last, 0)]
                if last_row is not None and row >= last_row:
                    return
                row += last
                if None in texts:
                    _skip_nulls(texts, path, row - len(texts), field, skip)
                    texts = [text for text in texts if text is not None]
                if texts:
                    yield texts, row, size * row // n_rows
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: a text near row {row} is not UTF-8: {error}; convert it first") from None
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # from the system: errors of pyarrow have no number
            error.filename = error.filename or os.fspath(path)
            raise
        raise FormatError(f"{path}: not a parquet file that can be read: {error}; get it again") from None


def _skip_nulls(texts: Sequence[str | None], path: AnyPath, first_row: int, field: str, skip: Skip | None) -> None:
    for row, text in enumerate(texts, first_row):
        if text is None:
            null = FormatError(f"{path}: row {row}: its {field!r} is null, not a string")
            if skip is None:
                raise null
            skip(null)
