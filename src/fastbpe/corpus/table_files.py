"""Columns of parquet and Arrow IPC files, and the texts in them, some rows at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import CONVERT, OTHER_FIELD, Skip
from fastbpe.errors import FormatError

AGAIN = "copy the file again or recreate it"  # advice in errors

_BUFFER_BYTES = 1 << 20  # bytes read at a time
_ROWS = 256  # rows of texts read at a time; a row may be a whole book
_FILE_MAGIC = b"ARROW1"  # start of an Arrow IPC file; without it, the content is an Arrow IPC stream
#: Types of a column of texts → the type that holds their bytes.
_BYTES_OF = {
    "string": "binary",
    "large_string": "large_binary",
    "string_view": "binary_view",
    "binary": "binary",
    "large_binary": "large_binary",
    "binary_view": "binary_view",
}


@contextlib.contextmanager
def open_table(
    source: AnyPath | IO[bytes], where: object, kind: str, again: str = AGAIN
) -> Iterator[ParquetTable | ArrowTable]:
    """Open a file of the kind "parquet" or "arrow": a path, or an open file that can seek.

    again: advice for the errors of a damaged file.

    Raises:
        FormatError: the file is damaged; also while the caller uses it.
        ImportError: pyarrow is not installed.
        OSError: the system cannot open or read it.
    """
    is_parquet = kind == "parquet"
    arrow = require_pyarrow(where, kind)
    table: ParquetTable | ArrowTable | None = None
    try:
        with contextlib.ExitStack() as opened:
            if not (is_parquet and isinstance(source, Path)):  # pyarrow opens a local parquet file itself: faster
                source = opened.enter_context(_open(source))
            table = (ParquetTable if is_parquet else ArrowTable)(arrow, source, where, again, opened)
            yield table
    except FormatError:
        raise
    except Exception as error:  # for damaged files, pyarrow raises errors of many kinds
        if isinstance(error, OSError) and error.errno:  # from the system: pyarrow's own errors have no number
            error.filename = error.filename or str(where)
            raise
        place = f" after row {table.row}" if table is not None and table.row else ""
        name = "parquet" if is_parquet else "Arrow"
        raise FormatError(f"{where}: not a valid {name} file{place}: {error}; {again}") from None


class _Table:
    """An open file.

    Attributes:
        arrow: the module pyarrow.
        schema: its columns.
        n_rows: int or None – number of its rows; None: the file does not say.
        row: int – number of rows that were read or left out.
    """

    schema: Any
    n_rows: int | None = None

    def __init__(self, arrow: Any, file: Any, where: object, again: str, opened: contextlib.ExitStack) -> None:
        self.arrow, self._file, self._where, self._again = arrow, file, where, again
        self.row = 0
        self._open(opened)

    def _open(self, opened: contextlib.ExitStack) -> None:
        """Open the file's reader."""
        raise NotImplementedError

    def _batches(self, way: Sequence[str], n: int, first_row: int) -> Iterator[tuple[Any, int]]:
        """Yield (batch, number of bytes of the file up to its end), and count the rows that are left out.

        `rows` counts the rows of a batch in `row` before it takes the next one.
        """
        raise NotImplementedError

    def column(self, field: str, fits: Callable[[Any], object], kind: str, way_out: str) -> list[str]:
        """Find a column, and return the names that lead to it.

        Args:
            field: its name; with dots, also the path to a field of a struct.
            fits: function that tells whether the column may have a type; `kind` names such a type in errors.

        Raises:
            FormatError: there is no such column, there are several, or its type does not fit.
        """
        names = self.schema.names
        if names.count(field) > 1:
            raise FormatError(
                f"{self._where}: several columns are named {field!r}; keep one, or rename the others"
            )
        found = _find(self.schema, names, field, self.arrow)
        if found is None:
            raise FormatError(
                f"{self._where}: no column {field!r}; its columns are {', '.join(map(repr, names))}; {way_out}"
            )
        way, found_kind = found
        if not fits(found_kind):
            raise FormatError(f"{self._where}: its column {field!r} is {found_kind}, not {kind}; {way_out}")
        return way

    def rows(
        self, way: Sequence[str], n: int, first_row: int = 0, prepare: Callable[[Any], Any] | None = None
    ) -> Iterator[tuple[Any, int]]:
        """Yield (array of up to n rows of a column, number of bytes of the file up to there).

        pyarrow trusts the offsets in a file, and a wrong offset would crash the process: so they are checked here.

        way: names that lead to the column.
        first_row: the first row that is wanted; arrays before it may be left out, and count in `row`.
        prepare: function to call with each array before the check.
        """
        for batch, n_read in self._batches(way, n, first_row):
            batch.validate()
            column = batch.column(batch.schema.get_field_index(way[0]))
            if len(way) > 1:
                from pyarrow import compute  # pyarrow itself does not load it

                column = compute.struct_field(column, list(way[1:]))
            column = column if prepare is None else prepare(column)
            column.validate(full=True)
            for start in range(0, len(column), n):
                piece = column.slice(start, n)
                yield piece, n_read
                self.row += len(piece)


class ParquetTable(_Table):
    """An open parquet file."""

    def _open(self, opened: contextlib.ExitStack) -> None:
        # Without pre_buffer, which reads whole row groups ahead: one may be as large as the file.
        reader = self.arrow.parquet.ParquetFile
        self._reader = opened.enter_context(reader(self._file, pre_buffer=False, buffer_size=_BUFFER_BYTES))
        self._facts = self._reader.metadata
        self.schema, self.n_rows = self._reader.schema_arrow, self._facts.num_rows

    def _batches(self, way: Sequence[str], n: int, first_row: int) -> Iterator[tuple[Any, int]]:
        size = os.stat(self._file).st_size if isinstance(self._file, Path) else _size(self._file)
        groups = [self._facts.row_group(i).num_rows for i in range(self._reader.num_row_groups)]
        if min(groups, default=0) < 0 or sum(groups) != self.n_rows:
            raise self._damaged("its row counts disagree")
        for group, n_rows in enumerate(groups):  # one by one: the rows before a damaged one are read
            end = self.row + n_rows
            if end <= first_row:
                self.row = end
                continue
            for batch in self._reader.iter_batches(n, row_groups=[group], columns=[".".join(way)]):
                yield batch, size * (self.row + batch.num_rows) // sum(groups)
            if self.row != end:
                raise self._damaged(f"row {self.row} is missing")

    def _damaged(self, said: str) -> FormatError:
        return FormatError(f"{self._where}: damaged parquet file: {said}; {self._again}")


class ArrowTable(_Table):
    """An open Arrow file or stream."""

    def _open(self, opened: contextlib.ExitStack) -> None:
        self._is_file = self._file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
        self._file.seek(0)
        ipc = self.arrow.ipc
        reader = (ipc.open_file if self._is_file else ipc.open_stream)(self._file)
        self._reader = opened.enter_context(reader)
        self.schema = reader.schema

    def _batches(self, way: Sequence[str], n: int, first_row: int) -> Iterator[tuple[Any, int]]:
        reader = self._reader
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader:
            yield batch, self._file.tell()


def _find(fields: Any, names: list[str], field: str, pyarrow: Any) -> tuple[list[str], Any] | None:
    """Find a field of a schema or struct; return the names on the way to it, and its type; None: no such field."""
    if field in names:
        return [field], fields.field(field).type
    dot = field.find(".")
    while dot >= 0:
        if field[:dot] in names and pyarrow.types.is_struct(kind := fields.field(field[:dot]).type):
            inner = [kind.field(i).name for i in range(kind.num_fields)]
            if found := _find(kind, inner, field[dot + 1 :], pyarrow):
                return [field[:dot], *found[0]], found[1]
        dot = field.find(".", dot + 1)
    return None


def _open(source: AnyPath | IO[bytes]) -> Any:
    """Open a path; leave an open file open."""
    return contextlib.nullcontext(source) if hasattr(source, "read") else source.open("rb")


def _size(file: IO[bytes]) -> int:
    at = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(at)
    return size


def is_list_of_integers(kind: Any) -> bool:
    """Tell whether an Arrow type is a kind of list of integers."""
    return "list" in str(kind).partition("<")[0] and str(kind.value_type).lstrip("u").startswith("int")


def is_text(kind: Any) -> bool:
    """Tell whether an Arrow type holds strings or bytes, possibly in dictionaries."""
    name = str(kind)
    return (str(kind.value_type) if name.startswith("dictionary<") else name) in _BYTES_OF


def as_bytes(arrow: Any, column: Any) -> Any:
    """Convert an array of texts or nulls to bytes, and check all but the UTF-8. arrow: the module pyarrow.

    The array may also be of the type null, as in a table without any text.
    """
    if arrow.types.is_dictionary(column.type):
        values = as_bytes(arrow, column.dictionary)
        return arrow.DictionaryArray.from_arrays(column.indices, values, safe=True).cast(values.type)
    column = column.cast(getattr(arrow, _BYTES_OF.get(str(column.type), "binary"))())
    column.validate(full=True)
    return column


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
    """Yield (texts of a column, number of the row after them, number of bytes of the file up to there).

    A text may be of any Arrow type for strings or (UTF-8) bytes, including dictionaries of them.

    Args:
        source, kind: as for `open_table`; field: as for `_Table.column`.
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
