"""Files of sequences of integers: arrays, files of ids, tables, and lines of text or JSON.

- .npy: a one-dimensional array is a sequence; each row of a two-dimensional array is one. If a .npy, .bin or .idx
  has files that define its documents, each document is a sequence.
- .jsonl, .ndjson, .jsonlines, .jl, also .gz and .zst: a line is a list of integers, or an object with such a list
  in a field. Blank lines are skipped.
- .parquet and .arrow: a row is a sequence, in a column of lists.
- any other file, also .gz and .zst: a line is a sequence, with its integers separated by white space. A blank line
  is an empty sequence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from fastbpe._utils.optional_imports import require_numpy
from fastbpe.corpus.document_formats import BOM, TABLES, check_is_read, named
from fastbpe.corpus.file_parts import unpacked
from fastbpe.corpus.listing import Listing
from fastbpe.corpus.remote import AnyPath, is_remote
from fastbpe.corpus.source_kinds import field_of
from fastbpe.corpus.table_files import is_list_of_integers, open_table
from fastbpe.errors import FormatError
from fastbpe.id_files.parts import beside, check_mappable
from fastbpe.id_files.reader import open_ids

FIELD = "input_ids"  # the field or column that contains a sequence
_IDS = (".bin", ".idx")
_ARRAYS = (".npy", *_IDS)
_KINDS = "sequences (.npy, .bin, .idx, .jsonl, .parquet, .arrow or .txt)"  # files that are read from a folder
_OTHER_FIELD = "use field= to choose the one that contains the sequence"  # advice in errors
_LONGEST_NUMBER = 18  # digits; int() refuses thousands of them with a message about Python's own limit
_ROWS = 1024  # rows of a table read at a time


def files_of(inputs: Any) -> list[Path]:
    """List the files that paths, folders and patterns refer to, as `Listing` does for documents.

    An .idx next to a listed .bin is left out: together they are one file of ids.

    Raises FileNotFoundError if a folder or a pattern has no file of sequences, FormatError for a remote path,
    ValueError if there are no inputs, and TypeError if an input is not a path.
    """
    items = (inputs,) if isinstance(inputs, (str, os.PathLike)) else inputs
    if isinstance(items, bytes) or not isinstance(items, Iterable):
        raise TypeError(f"inputs must be a path, a folder, or a list of paths, not {type(inputs).__name__}")
    listing = Listing(is_taken=_is_taken, kinds=_KINDS)
    found: list[Any] = []
    for item in items:
        if not isinstance(item, (str, os.PathLike)):
            raise TypeError(f"an input is {type(item).__name__}, not a path; encode_batch accepts sequences")
        if is_remote(item):
            raise FormatError(f"{os.fspath(item)}: files of sequences must be on this machine; copy this one here")
        found += listing.files(item)
    if not found:
        raise ValueError("inputs is empty: pass a path, a folder, or a list of paths")
    known = {*found}
    return [path for path in found if path.suffix != ".idx" or path.with_suffix(".bin") not in known]


def _is_taken(path: AnyPath) -> bool:
    """Tell whether a file of a folder is read. A .json file there describes an array."""
    return path.suffix in _ARRAYS or named(path)[0] not in ("", "json")


def read(path: Path, field: str = FIELD) -> Iterator[tuple[str, Any]]:
    """Yield the sequences of a file, each with its place.

    field: field of a JSON line, or column of a table, that contains the sequence; with dots, the path to a nested
        one.

    Raises FormatError or ValueError, with the place, if the file contains anything but sequences; ImportError if a
    package needed to read it is missing.
    """
    kind, packing = named(path)
    check_is_read(path, kind, packing)
    if packing and (suffix := Path(path.stem).suffix) in _ARRAYS:
        raise FormatError(f"{path}: fastbpe reads {suffix} files only uncompressed; decompress it first")
    if kind in TABLES:
        yield from _rows(path, kind, field)
    elif path.suffix in _IDS or (path.suffix == ".npy" and beside(path, ".json").exists()):
        for i, ids in enumerate(_documents(path)):
            yield f"{path}, document {i}", ids
    elif path.suffix == ".npy":
        array = _array(path)
        for i, row in enumerate((array,) if array.ndim == 1 else array):
            yield f"{path}, row {i}", row
    else:
        with unpacked(path, packing) as file:
            yield from _json_lines(file, path, field) if kind == "jsonl" else text_lines(file, path)


def text_lines(file: Iterable[bytes], name: object) -> Iterator[tuple[str, list[int]]]:
    """Yield the integers of each line of text, with its place. name: name of the file."""
    for number, line in enumerate(file, 1):
        where = f"{name}:{number}"
        yield where, _numbers(line.removeprefix(BOM) if number == 1 else line, where)


def _numbers(line: bytes, where: str) -> list[int]:
    """Parse the integers of a line. Raises ValueError for anything else."""
    words = line.split()
    for position, word in enumerate(words):
        if not word.isdigit() or len(word) > _LONGEST_NUMBER:
            shown = word[:40].decode(errors="backslashreplace")
            raise ValueError(
                f"{where}: {shown!r} at position {position} is not a symbol or id: these are integers "
                f"of 0 or more, of at most {_LONGEST_NUMBER} digits"
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
            fields, value = value, field_of(value, field)
            if value is None and field not in fields:
                raise FormatError(
                    f"{where}: no field {field!r}; its fields are {', '.join(map(repr, fields))}; {_OTHER_FIELD}"
                )
        if not isinstance(value, list):
            raise FormatError(f"{where}: the sequence is {type(value).__name__}, not a list of integers")
        yield where, value


def _rows(path: Path, kind: str, field: str) -> Iterator[tuple[str, Any]]:
    with open_table(path, path, kind) as table:
        names = table.column(field, is_list_of_integers, "lists of integers", _OTHER_FIELD)
        for column, _ in table.rows(names, _ROWS):
            for number, row in enumerate(column, table.row):
                if not row.is_valid or row.values.null_count:
                    raise FormatError(
                        f"{path}: row {number}: {field!r} must be a list of integers, but is null or contains null"
                    )
                yield f"{path}, row {number}", row.values.to_pylist()


def _documents(path: Path) -> Any:
    """Open a file of ids; FormatError if neither the file nor a .json file next to it says the dtype."""
    try:
        return open_ids(path)
    except FormatError:
        raise
    except ValueError:  # the message advises dtype=, which here is the dtype of the output
        raise FormatError(
            f"{path}: needs {path.name}.json, which states the dtype of its integers; copy that file, too, or "
            "save the integers as .npy"
        ) from None


def _array(path: Path) -> Any:
    numpy = require_numpy("reading .npy files")
    check_mappable(path)
    try:
        array = numpy.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception as error:  # for a damaged header, numpy raises errors of Python's parser, too
        # numpy's message advises to load a file with a long header as pickled objects, which may run code.
        is_other = any(word in str(error) for word in ("pickle", "magic"))
        why = "it is not an array of numbers" if is_other else error
        raise FormatError(f"{path}: not a valid .npy file: {why}; copy the file again or recreate it") from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise FormatError(
            f"{path}: an array of {array.dtype} with ndim={array.ndim}; it must contain integers, in one or "
            "two dimensions"
        )
    return array
