"""Small JSON files in a tokenizer's folder."""

from __future__ import annotations

import json
import os
from typing import Any

from fastbpe.errors import FormatError

_MAX_CONFIG_BYTES = 1 << 26


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object; an empty one if the file does not exist."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return {}
    if len(data) > _MAX_CONFIG_BYTES:
        raise FormatError(f"{path}: more than {_MAX_CONFIG_BYTES} bytes, more than any such file needs")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def name_of(token: object) -> str | None:
    """Return the text of a token, written as a string or as an object with `content`; None for anything else."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None
