"""Files of sequences of integers: arrays, files of ids, tables, and lines of text or JSON.

- .npy: a one-dimensional array is a sequence; each row of a two-dimensional array is one. If a .npy, .bin or .idx
  has files that define its documents, each document is a sequence.
- .jsonl, .ndjson, also .gz and .zst: a line is a list of integers, or an object with such a list in a field.
- .parquet and .arrow: a row is a sequence, in a column of lists.
- any other file: a line is a sequence, with its integers separated by white space.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from fastbpe._utils.optional_imports import require_numpy, require_pyarrow
from fastbpe.corpus.compression import PACKINGS
from fastbpe.corpus.file_parts import unpacked
from fastbpe.errors import FormatError
from fastbpe.id_files.parts import beside
from fastbpe.id_files.reader import open_ids

FIELD = "input_ids"  # the field or column that contains a sequence
_JSON = (".jsonl", ".ndjson")
_TABLES = (".parquet", ".arrow")
_SUFFIXES = (".npy", ".bin", ".idx", *_JSON, *_TABLES, ".txt")
_LONGEST_NUMBER = 18  # digits; int() refuses thousands of them with a message about Python's own limit
_ROWS = 1024  # rows of a table read at a time


def files_of(inputs: Any) -> list[Path]:
    """List the files that paths, folders and patterns refer to.

    Raises:
        FileNotFoundError: a path does not exist, a folder has no file of sequences, or a pattern matches no file.
        ValueError: there are no inputs.
        TypeError: an input is not a path.
    """
    items = (inputs,) if isinstance(inputs, (str, os.PathLike)) else inputs
    if isinstance(items, bytes) or not isinstance(items, Iterable):
        raise TypeError(f"inputs must be a path, a folder, or a list of paths, not {type(inputs).__name__}")
    found: list[Path] = []
    for item in items:
        if not isinstance(item, (str, os.PathLike)):
            raise TypeError(f"an input is {type(item).__name__}, not a path; encode_batch accepts sequences")
        path = Path(item)
        here = [path]
        if path.is_dir():
            here = sorted(below for below in path.rglob("*") if below.is_file() and below.suffix in _SUFFIXES)
        elif not path.exists():
            here = sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not here:
            raise FileNotFoundError(2, "no such file, and no file of sequences matches", str(path))
        found += here
    if not found:
        raise ValueError("inputs is empty: pass a path, a folder, or a list of paths")
    return found


def read(path: Path, field: str = FIELD, dtype: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the sequences of a file, each with its place.

    Args:
        path: the file.
        field: field of a JSON line, or column of a table, that contains the sequence.
        dtype: dtype of a .bin that has no description next to it.

    Raises:
        FormatError, ValueError: the file contains something other than sequences; the message contains the place.
        ImportError: a package needed to read the file is missing.
    """
    suffixes = [suffix for suffix in path.suffixes if suffix not in PACKINGS]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _TABLES:
        yield from _rows(path, field)
    elif suffix in (".bin", ".idx") or (suffix == ".npy" and beside(path, ".json").exists()):
        for i, ids in enumerate(open_ids(path, dtype=cast("Any", dtype))):
            yield f"{path}, document {i}", ids
    elif suffix == ".npy":
        array = _array(path)
        for i, row in enumerate((array,) if array.ndim == 1 else array):
            yield f"{path}, row {i}", row
    else:
        packing = PACKINGS.get(path.suffix, "")
        with unpacked(path, packing) as file:
            if suffix in _JSON:
                yield from _json_lines(file, path, field)
            else:
                for number, line in enumerate(file, 1):
                    yield f"{path}:{number}", numbers(line, f"{path}:{number}")


def numbers(line: bytes, where: str) -> list[int]:
    """Parse the integers of a line. Raises ValueError for anything else."""
    words = line.split()
    for position, word in enumerate(words):
        if not word.isdigit() or len(word) > _LONGEST_NUMBER:
            shown = word[:40].decode(errors="backslashreplace")
            raise ValueError(
                f"{where}: {shown!r} at position {position} is not a symbol or id: these are integers from 0 on, "
                f"of at most {_LONGEST_NUMBER} digits"
            )
    return [int(word) for word in words]


def _json_lines(file: IO[bytes], path: Path, field: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(file, 1):
        where = f"{path}:{number}"
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where}: not a line of JSON: {error}") from None
        if isinstance(value, dict):
            if field not in value:
                raise FormatError(
                    f"{where}: no field {field!r}; its fields are {', '.join(map(repr, value))}; use field= "
                    "to choose the one that contains the sequence"
                )
            value = value[field]
        if not isinstance(value, list):
            raise FormatError(f"{where}: the sequence is {type(value).__name__}, not a list of integers")
        yield where, value


def _rows(path: Path, field: str) -> Iterator[tuple[str, Any]]:
    arrow = require_pyarrow(path)
    number = 0
    try:
        with (
            arrow.parquet.ParquetFile(path, pre_buffer=False)
            if path.suffix == ".parquet"
            else _arrow(path) as file
        ):
            schema = file.schema_arrow if path.suffix == ".parquet" else file.schema
            if field not in schema.names:
                raise FormatError(
                    f"{path}: no column {field!r}; its columns are {', '.join(map(repr, schema.names))}; use "
                    "field= to choose the column that contains the sequences"
                )
            kind = schema.field(field).type
            if not hasattr(kind, "value_type") or not arrow.types.is_integer(kind.value_type):
                raise FormatError(f"{path}: its column {field!r} is {kind}, not lists of integers")
            batches = file.iter_batches(_ROWS, columns=[field]) if path.suffix == ".parquet" else _batches(file)
            for batch in batches:
                for row in batch.column(batch.schema.get_field_index(field)):
                    if not row.is_valid or row.values.null_count:
                        raise FormatError(
                            f"{path}: row {number}: its {field!r} is null or contains null, not integers"
                        )
                    yield f"{path}, row {number}", row.values.to_pylist()
                    number += 1
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise FormatError(
            f"{path}: not a valid {path.suffix} file: {error}; copy the file again or recreate it"
        ) from None


def _arrow(path: Path) -> Any:
    ipc = require_pyarrow(path).ipc
    with open(path, "rb") as file:
        is_file = file.read(6) == b"ARROW1"
    return ipc.open_file(str(path)) if is_file else ipc.open_stream(str(path))


def _batches(reader: Any) -> Iterable[Any]:
    return map(reader.get_batch, range(reader.num_record_batches)) if hasattr(reader, "get_batch") else reader


def _array(path: Path) -> Any:
    numpy = require_numpy("reading .npy files")
    try:
        array = numpy.load(path, allow_pickle=False, mmap_mode="r")
    except (ValueError, EOFError) as error:
        # numpy takes a file without its header for pickled objects, and advises to load them, which may run code.
        why = "it is not an array of numbers" if "pickle" in str(error) else error
        raise FormatError(f"{path}: not a valid .npy file: {why}") from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise FormatError(
            f"{path}: an array of {array.dtype} with ndim={array.ndim}; it must have one or two dimensions, "
            "of integers"
        )
    return array
