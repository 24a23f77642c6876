"""Imports of optional packages, which only some methods need and which pip does not install with fastbpe."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def require_numpy(method: str) -> Any:
    """Import numpy, or raise an ImportError that says what to install.

    Args:
        method: str – name of the method that needs it, for the error.
    """
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{method} needs numpy: pip install numpy") from None
    return numpy


def require_pyarrow(path: object, kind: str) -> Any:
    """Import pyarrow, or raise an ImportError that says what to install.

    pyarrow loads its modules ipc and types itself; for parquet files, this loads pyarrow.parquet, too.

    Args:
        path: the file that needs it, for the error.
        kind: str – its format, "parquet" or "arrow".
    """
    try:
        import pyarrow

        if kind == "parquet":
            import pyarrow.parquet
    except ImportError:
        name = "Arrow" if kind == "arrow" else kind
        raise ImportError(f"{path}: {name} files need pyarrow: pip install pyarrow") from None
    return pyarrow


def require_pyarrow_for(method: str) -> Any:
    """Import pyarrow, or raise an ImportError that says what to install.

    Args:
        method: name of the method that needs it, for the error.
    """
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{method} needs pyarrow: pip install pyarrow") from None
    return pyarrow


def require_zstandard(path: str | os.PathLike[str]) -> Any:
    """Import zstandard, or raise an ImportError that says what to install.

    Args:
        path: the .zst file that needs it, for the error.
    """
    try:
        import zstandard
    except ImportError:
        raise ImportError(f"{os.fspath(path)}: .zst files need zstandard: pip install zstandard") from None
    return zstandard


def require_fsspec(url: str) -> Any:
    """Import fsspec, or raise an ImportError that says what to install.

    Args:
        url: the remote path that needs it, for the error.
    """
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{url}: remote paths need fsspec: pip install fsspec") from None
    return fsspec


def find_orjson() -> Any:
    """Import orjson; None if it is not installed."""
    try:
        import orjson
    except ImportError:
        return None
    return orjson
