"""What is needed for some methods only, and is not installed with fastbpe."""

from __future__ import annotations

from typing import Any


def require_numpy(method: str) -> Any:
    """numpy, or an error that says what to install."""
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{method} needs numpy: pip install 'fastbpe[numpy]'") from None
    return numpy


def find_orjson() -> Any:
    """orjson, or None."""
    try:
        import orjson
    except ImportError:
        return None
    return orjson
