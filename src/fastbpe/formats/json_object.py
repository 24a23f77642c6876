"""JSON files of tokenizers."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from fastbpe._utils.file_statuses import adding_filename
from fastbpe.errors import FormatError

_MAX_CONFIG_BYTES = 1 << 26  # also of the vocab.json of some classes
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # occurs in each file with a lone surrogate, and in few others


def loads(data: bytes, **options: Any) -> Any:
    """Parse JSON in UTF-8 with the options of `json.loads`. Raises ValueError, also for a lone surrogate."""
    value = json.loads(str(data, "utf-8"), **options)  # of bytes, it would also read UTF-16, and keep surrogates
    if _SURROGATE.search(data):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            near = error.object[max(error.start - 20, 0) : error.end + 20]
            raise ValueError(f"UTF-8 cannot encode the lone surrogate in {near!r}") from None
    return value


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object; an empty one if the file does not exist.

    Raises:
        FormatError: the file is too large, or is not a JSON object.
    """
    try:
        with adding_filename(path), open(path, "rb") as file:
            data = file.read(_MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return {}
    if len(data) > _MAX_CONFIG_BYTES:
        raise FormatError(f"{path}: more than {_MAX_CONFIG_BYTES} bytes, more than any such file needs")
    try:
        value = loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def name_of(token: object) -> str | None:
    """Return the text of a token, written as a string or as an object with `content`; None for anything else."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None
