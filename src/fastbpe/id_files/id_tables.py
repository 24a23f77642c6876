"""Reading of parquet and Arrow files of ids (from `encode_files`) as blocks of ids and ends of documents."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fastbpe._utils.json_objects import check_object
from fastbpe.corpus.id_schemas import FINISHING
from fastbpe.corpus.table_files import ArrowTable, ParquetTable, is_list_of_integers, open_table
from fastbpe.errors import FormatError

_COLUMN = "input_ids"
_ROWS = 4096  # rows read at a time
AGAIN = "encode the documents again with overwrite=True"  # advice in errors


def read_about(path: Path) -> dict[str, Any]:
    """Read the metadata of a file, and check that its column has the dtype and number of documents stated there.

    Raises:
        FormatError: the file is damaged, or is not a file of ids that fastbpe wrote.
        ImportError: pyarrow is not installed.
    """
    with _opened(path) as table:
        data = (table.schema.metadata or {}).get(b"fastbpe")
        if data is None:
            raise FormatError(f"{path}: its metadata have no 'fastbpe': not a file of ids that encode_files wrote")
        try:
            about = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise FormatError(
                f"{path}: the value of 'fastbpe' in its metadata is not JSON: {error}; {AGAIN}"
            ) from None
        check_object(about, FINISHING, f"{path}, metadata 'fastbpe'", AGAIN)
        dtype = about["dtype"]
        table.column(
            _COLUMN,
            lambda kind: is_list_of_integers(kind) and str(kind.value_type) == dtype,
            f"lists of {dtype}",
            AGAIN,
        )
        if table.n_rows not in (None, about["documents"]):
            raise FormatError(f"{path}: {table.n_rows} rows, but its metadata say {about['documents']}; {AGAIN}")
        return about  # type: ignore[no-any-return]


def read_rows(path: Path) -> Iterator[tuple[bytes, array[int]]]:
    """Read the documents in batches.

    Yields:
        (ids of the documents, concatenated, little-endian; the end of each document among all ids of the file).
    """
    at = 0
    with _opened(path) as table:
        for rows, _ in table.rows([_COLUMN], _ROWS):
            rows = rows.cast(table.arrow.large_list(table.arrow.field("element", rows.type.value_type)))
            ids = rows.flatten()
            if rows.null_count or ids.null_count:
                raise FormatError(f"{path}: a row or an id is null; {AGAIN}")
            lengths = rows.value_lengths().to_pylist()
            n_bytes = ids.type.bit_width // 8
            start = ids.offset * n_bytes
            data = ids.buffers()[1]  # after the bits that mark nulls; None: there are no ids
            yield (
                b"" if data is None else memoryview(data)[start : start + len(ids) * n_bytes].tobytes(),
                array("q", [at := at + length for length in lengths]),
            )


def _opened(path: Path) -> AbstractContextManager[ParquetTable | ArrowTable]:
    return open_table(path, path, path.suffix[1:], AGAIN)
