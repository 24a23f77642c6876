"""Texts of parquet and Arrow IPC files, some rows at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import CONVERT, OTHER_FIELD, Skip
from fastbpe.errors import FormatError

_BUFFER_BYTES = 1 << 20  # bytes read at a time
_ROWS = 256  # rows read at a time; a row may be a whole book
_FILE_MAGIC = b"ARROW1"  # of an Arrow IPC file; without it, it is a stream
#: Types of a column of texts → the type that holds their bytes.
_BYTES_OF = {
    "string": "binary",
    "large_string": "large_binary",
    "string_view": "binary_view",
    "binary": "binary",
    "large_binary": "large_binary",
    "binary_view": "binary_view",
}


class TableTexts:
    """Reader of the texts of a column.

    A text may be of any Arrow type for strings or (UTF-8) bytes, including dictionaries of them.

    Args:
        source: path of the file, or an open file that can seek.
        where: the file, for errors.
        kind: "parquet" or "arrow".
        field: name of the column; with dots, also the path to a field of a struct.
        first_row: row to begin with.
        last_row: row to end before; None: the end.
        skip: function to call with the error for each row without text; None: raise the error.
        errors: "strict", or "replace": bytes that are not UTF-8 become U+FFFD.
    """

    def __init__(
        self,
        source: AnyPath | IO[bytes],
        where: object,
        kind: str,
        field: str,
        *,
        first_row: int = 0,
        last_row: int | None = None,
        skip: Skip | None = None,
        errors: str = "strict",
    ) -> None:
        self._source, self._where, self._kind, self._field = source, where, kind, field
        self._first_row, self._last_row, self._skip, self._errors = first_row, last_row, skip, errors
        self._row = 0  # rows that were read
        self.pyarrow = require_pyarrow(
            f"{where}" if kind == "parquet" else f"{where}".removesuffix(".arrow") + ".arrow"
        )

    def __iter__(self) -> Iterator[tuple[list[str], int, int]]:
        """Yield (texts, number of the row after them, bytes of the file up to there).

        Raises:
            FormatError: the file is damaged, or has no such column of text.
            OSError: the system cannot open or read it.
        """
        columns = self._parquet() if self._kind == "parquet" else self._arrow()
        with self.naming_damage():
            for column, n_read in columns:
                start, end = max(self._first_row - self._row, 0), len(column)
                if self._last_row is not None:
                    end = min(end, self._last_row - self._row)
                values = column.slice(start, end - start).to_pylist() if start < end else []
                self._row += end
                if texts := self._texts(values):
                    yield texts, self._row, n_read
                if self._row == self._last_row:
                    return

    def _texts(self, values: list[bytes | None]) -> list[str]:
        """Decode the texts of the last rows; leave out those that are not texts."""
        texts = []
        for row, value in enumerate(values, self._row - len(values)):
            if value is not None:
                try:
                    texts.append(value.decode(errors=self._errors))
                    continue
                except UnicodeDecodeError as error:
                    said = f"its {self._field!r} is not UTF-8: {error}; {CONVERT}"
            else:
                said = f"its {self._field!r} is null, not a string"
            wrong = FormatError(f"{self._where}: row {row}: {said}")
            if self._skip is None:
                raise wrong
            self._skip(wrong)
        return texts

    @contextlib.contextmanager
    def naming_damage(self) -> Iterator[None]:
        """Turn errors of pyarrow into a FormatError: for damaged files it raises errors of many kinds."""
        try:
            yield
        except FormatError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno:  # from the system: errors of pyarrow have no number
                error.filename = error.filename or str(self._where)
                raise
            kind = "parquet" if self._kind == "parquet" else "Arrow"
            place = f" after row {self._row}" if self._row else ""
            raise FormatError(
                f"{self._where}: not a valid {kind} file{place}: {error}; copy the file again or recreate it"
            ) from None

    # The columns, as arrays of bytes of up to _ROWS rows, with the bytes of the file up to there.

    def _parquet(self) -> Iterator[tuple[Any, int]]:
        source = self._source
        with contextlib.ExitStack() as opened:
            if not isinstance(source, Path):  # pyarrow opens files of this machine itself, which is faster
                source = opened.enter_context(_open(source))
            # Without pre_buffer, which reads whole row groups ahead: one may be as large as the file.
            reader = self.pyarrow.parquet.ParquetFile
            file = opened.enter_context(reader(source, pre_buffer=False, buffer_size=_BUFFER_BYTES))
            size = os.stat(source).st_size if isinstance(source, Path) else _size(source)
            way = self._way(file.schema_arrow)
            groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            if min(groups, default=0) < 0 or (n_rows := sum(groups)) != file.metadata.num_rows:
                raise FormatError(
                    f"{self._where}: damaged parquet file: its row counts disagree; "
                    "copy the file again or recreate it"
                )
            first = 0
            while first < len(groups) and self._row + groups[first] <= self._first_row:
                self._row += groups[first]
                first += 1
            for group in range(first, len(groups)):  # one by one: the rows before a damaged one are read
                wanted = self._row + groups[group]
                for batch in file.iter_batches(_ROWS, row_groups=[group], columns=[".".join(way)]):
                    yield self._bytes(batch, way), size * (self._row + batch.num_rows) // max(n_rows, 1)
                if self._row != wanted:
                    raise FormatError(
                        f"{self._where}: damaged parquet file: row {self._row} is missing; "
                        "copy the file again or recreate it"
                    )

    def _arrow(self) -> Iterator[tuple[Any, int]]:
        ipc = self.pyarrow.ipc
        with _open(self._source) as file:
            is_file = file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
            file.seek(0)
            with ipc.open_file(file) if is_file else ipc.open_stream(file) as reader:
                way = self._way(reader.schema)
                batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
                for batch in batches:
                    batch.validate()
                    column = self._bytes(batch, way)
                    for start in range(0, len(column), _ROWS):
                        yield column.slice(start, _ROWS), file.tell()

    def _way(self, schema: Any) -> list[str]:
        """Check the column of texts, and return the names that lead to it."""
        for name in {*schema.names}:
            if name == self._field and schema.names.count(name) > 1:
                raise FormatError(
                    f"{self._where}: several columns are named {name!r}; keep one, or rename the others"
                )
        found = _find(schema, schema.names, self._field, self.pyarrow)
        if found is None:
            raise FormatError(
                f"{self._where}: no column {self._field!r}; its columns are "
                f"{', '.join(map(repr, schema.names))}; {OTHER_FIELD}"
            )
        way, kind = found
        if str(kind.value_type if self.pyarrow.types.is_dictionary(kind) else kind) not in _BYTES_OF:
            raise FormatError(f"{self._where}: its column {self._field!r} is {kind}, not string; {OTHER_FIELD}")
        return way

    def _bytes(self, batch: Any, way: list[str]) -> Any:
        """Return the column of texts as an array of bytes that has been checked."""
        arrow = self.pyarrow
        column = batch.column(way[0])
        if len(way) > 1:
            column = arrow.compute.struct_field(column, way[1:])
        if arrow.types.is_dictionary(column.type):
            values = self._checked(column.dictionary)
            column = arrow.DictionaryArray.from_arrays(column.indices, values, safe=True)  # checks the indices
            return column.cast(values.type)
        return self._checked(column)

    def _checked(self, column: Any) -> Any:
        column = column.cast(getattr(self.pyarrow, _BYTES_OF[str(column.type)])())  # does not check the UTF-8
        column.validate(full=True)
        return column


def count_rows(path: AnyPath) -> int:
    """Return the number of rows of a parquet file, or raise FormatError."""
    texts = TableTexts(path, path, "parquet", "")
    with texts.naming_damage(), _open(path) as opened:
        n_rows: int = texts.pyarrow.parquet.read_metadata(opened).num_rows
        return n_rows


def _find(fields: Any, names: list[str], field: str, pyarrow: Any) -> tuple[list[str], Any] | None:
    """Find a field of a schema or struct; return the names on the way to it, and its type."""
    if field in names:
        return [field], fields.field(field).type
    at = field.find(".")
    while at >= 0:
        if field[:at] in names and pyarrow.types.is_struct(kind := fields.field(field[:at]).type):
            inner = [kind.field(i).name for i in range(kind.num_fields)]
            if found := _find(kind, inner, field[at + 1 :], pyarrow):
                return [field[:at], *found[0]], found[1]
        at = field.find(".", at + 1)
    return None


def _open(source: AnyPath | IO[bytes]) -> Any:
    """Open a path; leave an open file open."""
    return contextlib.nullcontext(source) if hasattr(source, "read") else source.open("rb")


def _size(file: IO[bytes]) -> int:
    at = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(at)
    return size
