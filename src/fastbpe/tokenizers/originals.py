"""Objects of tokenizers itself, recognised where it is installed."""

from __future__ import annotations

from typing import Any


def is_theirs(value: Any) -> bool:
    """Tell whether an object is one of the original's, or of a subclass."""
    return any(one.__module__.partition(".")[0] == "tokenizers" for one in type(value).__mro__)
