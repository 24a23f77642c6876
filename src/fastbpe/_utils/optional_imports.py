"""What is needed for some methods only, and is not installed with fastbpe."""

from __future__ import annotations

import os
from typing import Any


def require_numpy(method: str) -> Any:
    """numpy, or an error that says what to install."""
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{method} needs numpy: pip install numpy") from None
    return numpy


def require_pyarrow(path: str | os.PathLike[str]) -> Any:
    """pyarrow, or an error that says what to install to read or write a parquet file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f"{os.fspath(path)}: parquet files need pyarrow: pip install pyarrow") from None
    return pyarrow


def require_zstandard(path: str | os.PathLike[str]) -> Any:
    """zstandard, or an error that says what to install to read a .zst file."""
    try:
        import zstandard
    except ImportError:
        raise ImportError(f"{os.fspath(path)}: .zst files need zstandard: pip install zstandard") from None
    return zstandard


def find_orjson() -> Any:
    """orjson, or None."""
    try:
        import orjson
    except ImportError:
        return None
    return orjson
