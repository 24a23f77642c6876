"""Texts of parquet and Arrow IPC files, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import IO

from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import CONVERT, OTHER_FIELD, Skip
from fastbpe.corpus.table_files import as_bytes, is_text, open_table
from fastbpe.errors import FormatError

_ROWS = 256  # rows read at a time; a row may be a whole book


def table_texts(
    source: AnyPath | IO[bytes],
    where: object,
    kind: str,
    field: str,
    *,
    first_row: int = 0,
    last_row: int | None = None,
    skip: Skip | None = None,
    errors: str = "strict",
) -> Iterator[tuple[list[str], int, int]]:
    """Yield the texts of a column as (texts, number of the row after them, bytes of the file up to there).

    A text may be of any Arrow type for strings or (UTF-8) bytes, including dictionaries of them.

    Args:
        source, where, kind: as for `open_table`.
        field: name of the column; with dots, also the path to a field of a struct.
        first_row: row to begin with.
        last_row: row to end before; None: the end.
        skip: function to call with the error for each row without text; None: raise the error.
        errors: "strict", or "replace": bytes that are not UTF-8 become U+FFFD.

    Raises:
        FormatError: the file is damaged, or has no such column of text; without `skip`, also: a row lacks text.
        OSError: the system cannot open or read it.
    """
    with open_table(source, where, kind) as table:
        way = table.column(field, is_text, "string", OTHER_FIELD)
        for column, n_read in table.rows(way, _ROWS, first_row, partial(as_bytes, table.arrow)):
            start, end = max(first_row - table.row, 0), len(column)
            if last_row is not None:
                end = min(end, last_row - table.row)
            texts = []
            for row, value in enumerate(
                column.slice(start, end - start).to_pylist() if start < end else (), table.row + start
            ):
                said = f"its {field!r} is null, not a string"
                if value is not None:
                    try:
                        texts.append(value.decode(errors=errors))
                        continue
                    except UnicodeDecodeError as error:
                        said = f"its {field!r} is not UTF-8: {error}; {CONVERT}"
                wrong = FormatError(f"{where}: row {row}: {said}")
                if skip is None:
                    raise wrong
                skip(wrong)
            if texts:
                yield texts, table.row + end, n_read
            if table.row + end == last_row:
                return
