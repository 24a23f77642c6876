"""Reading of parquet and Arrow files of ids (from `encode_files`) as blocks of ids and ends of documents."""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastbpe._utils.json_objects import check_object
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe.corpus.id_schemas import FINISHING
from fastbpe.errors import FormatError

_COLUMN = "input_ids"
_ROWS = 4096  # rows of parquet read at a time
AGAIN = "encode the documents again with overwrite=True"  # advice in errors
_ARROW_FILE = b"ARROW1"  # what Arrow's file format begins with, and its stream does not


def read_about(path: Path) -> dict[str, Any]:
    """Read the metadata of a file, and check that its column has the dtype and number of documents stated there.

    Raises:
        FormatError: the file is damaged, or is not a file of ids that fastbpe wrote.
        ImportError: pyarrow is not installed.
    """
    with _opened(path) as (schema, n_rows, _):
        data = (schema.metadata or {}).get(b"fastbpe")
        if data is None:
            raise FormatError(f"{path}: its metadata have no 'fastbpe': not a file of ids that encode_files wrote")
        try:
            about = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise FormatError(
                f"{path}: the value of 'fastbpe' in its metadata is not JSON: {error}; {AGAIN}"
            ) from None
        check_object(about, FINISHING, f"{path}, metadata 'fastbpe'", AGAIN)
        kinds = [str(field.type.value_type) for field in schema if field.name == _COLUMN and _is_list(field.type)]
        if kinds != [about["dtype"]]:
            raise FormatError(f"{path}: no column {_COLUMN!r} of lists of {about['dtype']}; {AGAIN}")
        if n_rows is not None and n_rows != about["documents"]:
            raise FormatError(f"{path}: {n_rows} rows, but its metadata say {about['documents']}; {AGAIN}")
        return about  # type: ignore[no-any-return]


def read_rows(path: Path, dtype: str) -> Iterator[tuple[bytes, array[int]]]:
    """Read the documents in batches.

    Args:
        path: the file.
        dtype: type of the ids.

    Yields:
        (ids of the documents, concatenated, little-endian; the end of each document among all ids of the file).
    """
    at = 0
    arrow = require_pyarrow(path)
    with _opened(path) as (_, _, batches):
        for batch in batches:
            rows = batch.column(batch.schema.get_field_index(_COLUMN))
            rows = rows.cast(arrow.large_list(arrow.field("element", rows.type.value_type)))
            if rows.null_count or rows.flatten().null_count:
                raise FormatError(f"{path}: a row or an id is null; {AGAIN}")
            ids = rows.flatten()
            lengths = rows.value_lengths().to_pylist()
            n_bytes = ids.type.bit_width // 8
            start = ids.offset * n_bytes
            data = ids.buffers()[1]
            yield (
                b"" if data is None else memoryview(data)[start : start + len(ids) * n_bytes].tobytes(),
                array("q", [at := at + length for length in lengths]),
            )


def _is_list(kind: Any) -> bool:
    return str(kind).startswith(("list<", "large_list<"))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, int | None, Iterator[Any]]]:
    """Open a file: its schema, its number of rows (None: not known), and its batches of rows."""
    arrow = require_pyarrow(path)
    try:
        if path.suffix == ".parquet":
            with arrow.parquet.ParquetFile(path, pre_buffer=False) as file:
                schema = file.schema_arrow.with_metadata(file.metadata.metadata)
                yield schema, file.metadata.num_rows, file.iter_batches(_ROWS, columns=[_COLUMN])
        else:
            with arrow.memory_map(str(path)) as stored:
                if stored.read(len(_ARROW_FILE)) == _ARROW_FILE:
                    reader = arrow.ipc.open_file(stored)
                    yield reader.schema, None, (reader.get_batch(i) for i in range(reader.num_record_batches))
                else:
                    stored.seek(0)
                    reader = arrow.ipc.open_stream(stored)
                    yield reader.schema, None, iter(reader)
    except (arrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, FormatError) or (isinstance(error, OSError) and error.errno):
            raise
        raise FormatError(f"{path}: not a valid {path.suffix} file: {error}; {AGAIN}") from None
