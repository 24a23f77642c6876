"""Definitions that the readers of documents share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastbpe.errors import FormatError

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


def field_of(record: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field of a JSON object, or of a nested field; None if there is no such field.

    A name with dots is first looked up unchanged, then as the path to a nested field.

    >>> field_of({"doc": {"text": "a"}}, "doc.text"), field_of({"doc.text": "b", "doc": {"text": "a"}}, "doc.text")
    ('a', 'b')
    """
    if field in record:
        return record[field]
    dot = field.find(".")
    while dot >= 0:
        inner = record.get(field[:dot])
        if isinstance(inner, dict) and (found := field_of(inner, field[dot + 1 :])) is not None:
            return found
        dot = field.find(".", dot + 1)
    return None
