"""JSON objects from files: parsing, and checking against a schema before any use."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError

_MAX_NAME = 255  # bytes (Windows: characters) of the name of a file; no system takes more
_MAX_NUMBER = 1 << 62  # a count or size is smaller: sums of two still fit int64


class Readable(Protocol):
    """Path of a file, local or remote."""

    def read_bytes(self) -> bytes:
        """Return the content."""


class Kind(NamedTuple):
    """Kind of value that a field accepts.

    said: str – description of the kind in errors.
    fits: function that tells whether a value is of this kind; it does not check items or fields.
    items: kind of the items of a list; None: they are not checked.
    fields: field → its kind, for an object; None: they are not checked.
    """

    said: str
    fits: Callable[[Any], bool]
    items: Kind | None = None
    fields: Schema | None = None


#: Field → its kind.
Schema = Mapping[str, Kind]


def optional(kind: Kind) -> Kind:
    """Return a kind for a field that may be missing or null."""
    return kind._replace(said=f"{kind.said} or null", fits=lambda value: value is None or kind.fits(value))


def list_of(kind: Kind) -> Kind:
    """Return the kind of a list whose items are of a kind."""
    return Kind("a list", lambda value: isinstance(value, list), items=kind)


def object_of(fields: Schema) -> Kind:
    """Return the kind of an object with these fields; other fields are allowed."""
    return Kind("an object", lambda value: isinstance(value, dict), fields=fields)


def one_of(*choices: str) -> Kind:
    """Return the kind of a field whose value is one of some strings."""
    return Kind(f"one of {', '.join(map(repr, choices))}", lambda value: value in choices)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MAX_NUMBER


def _is_text(value: object) -> bool:
    """Tell whether a value is a str that can be a path.

    Lone surrogates are allowed only where Python uses them for the bytes of paths that are not UTF-8.
    """
    return isinstance(value, str) and "\0" not in value and _encodes(value)


def _encodes(value: str) -> bool:
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def _is_relative(value: object) -> bool:
    """Tell whether a value is the relative path of a file inside a folder."""
    if not _is_text(value) or (os.name == "nt" and ":" in str(value)):  # "c:x" is on the drive C
        return False
    parts = str(value).replace(os.sep, "/").split("/")
    return not {"", ".", ".."} & {*parts} and max(map(_n_units, parts)) <= _MAX_NAME


def _n_units(name: str) -> int:
    """Return the length of a file's name as the system counts it."""
    return len(name if os.name == "nt" else os.fsencode(name))


def _is_name(value: object) -> bool:
    """Tell whether a value is the name of a file, without folders."""
    return _is_relative(value) and not {"/", os.sep} & {*str(value)}


COUNT = Kind("an integer of 0 or more", _is_count)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TEXT = Kind("a string without NUL or lone surrogates", _is_text)
NAME = Kind("the name of a file in the same folder", _is_name)
RELATIVE_PATH = Kind("a path below a folder", _is_relative)
SHA256 = Kind("a SHA-256", lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{64}", value)))
OBJECT = object_of({})


def read_object(path: Readable, schema: Schema, way_out: str) -> dict[str, Any]:
    """Read a JSON object.

    Args:
        path: the file.
        schema: fields to check; a field may be missing only if its kind is `optional`.
        way_out: advice to put at the end of errors.

    Raises:
        FormatError: the file is not a JSON object, or a field is missing or of the wrong kind; the message
            contains the path and the field.
        OSError: the file cannot be read.
    """
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON: {error}; {way_out}") from None
    check_object(value, schema, str(path), way_out)
    return value  # type: ignore[no-any-return]


def check_object(value: Any, schema: Schema, where: str, way_out: str, within: str = "") -> None:
    """Check a parsed JSON object and its fields.

    Args:
        value: the parsed JSON.
        schema, way_out: as for `read_object`.
        where: the file, for errors.
        within: str – names of the fields that lead to the object, each followed by a dot.

    Raises:
        FormatError: as for `read_object`.

    >>> check_object({"count": 1.5}, {"count": COUNT}, "a.json", "write it again")
    Traceback (most recent call last):
    ...
    fastbpe.errors.FormatError: a.json: 'count' is 1.5, not an integer of 0 or more; write it again
    """
    if not isinstance(value, dict):
        raise FormatError(f"{where}: expected a JSON object, found {type(value).__name__}; {way_out}")
    for name, kind in schema.items():
        _check(value.get(name), kind, within + name, where, way_out)


def _check(value: Any, kind: Kind, name: str, where: str, way_out: str) -> None:
    if not kind.fits(value):
        found = "missing or null" if value is None else f"{value!r:.40}"
        raise FormatError(f"{where}: {name!r} is {found}, not {kind.said}; {way_out}")
    if kind.items is not None and value is not None:
        for i, item in enumerate(value):
            _check(item, kind.items, f"{name}[{i}]", where, way_out)
    if kind.fields is not None and value is not None:
        check_object(value, kind.fields, where, way_out, f"{name}.")
