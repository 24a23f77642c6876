"""Checks of arguments, with the errors of tokenizers."""

from __future__ import annotations

from operator import index
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: Greatest id.
MAX_ID = (1 << 32) - 1


def of_type(value: Any, kind: Any) -> Any:
    """Return a value if it has the right type. Raises TypeError, or UnicodeEncodeError, as tokenizers does.

    A bool of numpy becomes a bool, and an instance of a subclass of str a plain str. A bool is no int.
    """
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        if kind is str:
            value = str.__str__(value)  # a subclass may override all methods, as an Enum does
            if not value.isascii():
                value.encode()  # raises UnicodeEncodeError for a lone surrogate
        return value
    is_flag = kind is bool or (type(kind) is tuple and bool in kind)
    if is_flag and type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    if kind is int:
        raise TypeError(f"{type(value).__name__!r} object cannot be interpreted as an integer")
    name = (kind[0] if isinstance(kind, tuple) else kind).__name__
    raise TypeError(f"{type(value).__name__!r} object is not an instance of {name!r}")


def sequence(value: Any) -> Any:
    """Return a list or another sequence, such as a numpy array. Raises TypeError for a str, a dict and others."""
    if isinstance(value, str):
        raise TypeError("Can't extract `str` to `Vec`")
    if isinstance(value, (dict, MappingProxyType)) or not hasattr(type(value), "__getitem__"):
        raise TypeError(f"{type(value).__name__!r} object is not an instance of 'Sequence'")
    return value


def number(value: Any) -> int:
    """Return an unsigned 64-bit int. Raises TypeError or OverflowError for others."""
    found = index(value)
    if found < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if found >= 1 << 64:
        raise OverflowError("int too big to convert")
    return found


def number_or_none(value: Any) -> int | None:
    return None if value is None else number(value)


def real(value: Any) -> float:
    """Return a float. Raises TypeError for a str or any other value that is not a number."""
    # str: numpy.str_ has __float__, but tokenizers refuses it.
    if isinstance(value, str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def token_id(value: Any) -> int:
    """Return an id. Raises TypeError or OverflowError for a value that tokenizers refuses."""
    found = index(value)
    if not 0 <= found <= MAX_ID:
        size = "small" if found < 0 else "large"
        raise OverflowError(f"number too {size} to fit in target type")
    return found


def ignore(names: Iterable[str]) -> None:
    """Warn about keyword arguments that have no effect; tokenizers prints a message instead."""
    import warnings

    for name in names:
        warnings.warn(f"Ignored unknown kwarg option {name}", stacklevel=3)


def character(value: Any) -> str:
    """Return a str of one character. Raises TypeError or ValueError for others."""
    found: str = of_type(value, str)
    if len(found) != 1:
        raise ValueError("expected a string of length 1")
    return found
