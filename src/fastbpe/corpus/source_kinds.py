"""Kinds of sources: the rule that distinguishes paths from texts, and definitions shared by readers."""

from __future__ import annotations

import errno
import glob
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fastbpe._utils.batches import items_in
from fastbpe.corpus.compression import PACKINGS
from fastbpe.corpus.remote import RemotePath, as_path, is_remote
from fastbpe.errors import FormatError, TrainingError, TrainingWarning

Document = str | bytes
#: Function that returns the last safe cut of a text: an offset in bytes where it may be cut without changing ids,
#: or 0. The text is UTF-8 and ends with a whole character. A cut depends only on the 16 KB on either side of it.
Cut = Callable[[bytes], int]
#: Suffix of a file → format of its content; "json": it may be lines of JSON, or something else.
KINDS = {
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonlines": "jsonl",
    ".jl": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
#: Suffixes of compressed files that fastbpe does not decompress.
REFUSED = (".bz2", ".xz", ".zip", ".7z", ".lz4")
#: Function that is called with the error of each line or row without text.
Skip = Callable[[FormatError], object]
CONVERT = 'convert it first, or pass errors="replace"'  # advice in errors
OTHER_FIELD = "use text_field= to name the field that contains the text"  # advice in errors
_PATH_SUFFIXES = (*KINDS, *PACKINGS, *REFUSED)  # a str that ends with one looks like a path
_MAX_PATH_CHARACTERS = 1024  # a str of this length or more does not look like a path
# Longest path that any system accepts (Windows). A longer text is not looked up: to parse a text of megabytes as a
# path takes longer than to count its pieces.
_MAX_SYSTEM_PATH_CHARACTERS = 1 << 15
_FOLDER_ENDS = ("/", os.sep)


def field_of(record: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field of a JSON object, or of a nested field; None if there is no such field.

    A name with dots is first looked up unchanged, then as the path to a nested field.

    >>> field_of({"doc": {"text": "a"}}, "doc.text"), field_of({"doc.text": "b", "doc": {"text": "a"}}, "doc.text")
    ('a', 'b')
    """
    if field in record:
        return record[field]
    at = field.find(".")
    while at >= 0:
        inner = record.get(field[:at])
        if isinstance(inner, dict) and (found := field_of(inner, field[at + 1 :])) is not None:
            return found
        at = field.find(".", at + 1)
    return None


def items_of(source: object) -> tuple[Iterable[Any], bool]:
    """Return the items of a source, and tell paths from texts.

    A single str is a path. Strings in a list or tuple are paths if every one looks like a path; strings in any
    other iterable are texts. An os.PathLike is always a path.

    Returns:
        The items, and whether items of type str are paths.

    Raises:
        FileNotFoundError: a path does not exist.
        TrainingError: all strings of a list are files or folders, but not all look like paths.
        TypeError: the source is bytes, or not iterable.

    >>> items_of(["a text", "another one"])
    (['a text', 'another one'], False)
    """
    if isinstance(source, str):
        _check_there(source, "a str is a path; pass texts as a list, such as [text]")
        return (source,), True
    if isinstance(source, os.PathLike):
        return (source,), True
    if isinstance(source, bytes):
        raise TypeError("source is bytes: pass a path, or a list of documents, such as [text]")
    source = items_in(source, "source")
    if not isinstance(source, Iterable):
        raise TypeError(f"source must be a path or an iterable of documents, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)) or not any(isinstance(item, str) for item in source):
        return source, False
    if all(_looks_like_path(item) for item in source if isinstance(item, str)):
        for item in source:
            if isinstance(item, str):
                _check_there(
                    item, "a list of str that all look like paths is read as paths; pass texts as iter(list)"
                )
        return source, True
    if all(_is_there(item) for item in source if isinstance(item, str)):
        name = next(item for item in source if isinstance(item, str) and not _looks_like_path(item))
        raise TrainingError(
            f"{name!r} names a file or a folder, but does not look like a path; pass pathlib.Path({name!r}) to "
            "read it, or iter(texts) to read the strings themselves as texts"
        )
    return source, False


def warn_of_names(items: Iterable[object]) -> None:
    """Warn if the first of several texts is the name of a file: the others may be misspelled names."""
    if isinstance(items, (list, tuple)) and items and _names_file(items[0]):
        other = next((item for item in items if not _names_file(item)), None)
        warnings.warn(
            f"all {len(items)} documents are read as texts, not as paths: {items[0]!r} is the name of a file, "
            f"but {other!r:.80} is not; pass paths as pathlib.Path",
            TrainingWarning,
            stacklevel=2,
        )


def _looks_like_path(text: str) -> bool:
    """Tell whether a str is a short line that ends with a known extension or "/", or a pattern without spaces."""
    if len(text) >= _MAX_PATH_CHARACTERS or "\n" in text or "\r" in text or "\0" in text:
        return False
    if text.lower().endswith(_PATH_SUFFIXES) or text.endswith(_FOLDER_ENDS):
        return True
    return glob.has_magic(text) and len(text.split()) == 1


def _is_there(name: str) -> bool:
    """Tell whether a str is an existing file or folder, or a pattern that matches one."""
    if len(name) > _MAX_SYSTEM_PATH_CHARACTERS:
        return False
    if is_remote(name):
        path = RemotePath(name)
        return path.exists() or (glob.has_magic(name) and bool(path.glob_itself()))
    name = os.fspath(as_path(name)) if "://" in name else name
    if os.path.exists(name):
        return True
    may_match = len(name) < _MAX_PATH_CHARACTERS and "\n" not in name and "\0" not in name and glob.has_magic(name)
    return may_match and next(glob.iglob(name, recursive=True), None) is not None


def _check_there(name: str, way_out: str) -> None:
    """Raise FileNotFoundError if a path does not exist; the message ends with a way out."""
    if name and not _is_there(name):
        said = "no file matches" if glob.has_magic(name) else os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, f"{said} ({way_out})", name)


def _names_file(item: object) -> bool:
    return isinstance(item, str) and len(item) < _MAX_PATH_CHARACTERS and os.path.isfile(item)
