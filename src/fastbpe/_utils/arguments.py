"""Checks of arguments."""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def integer(name: str, value: Any) -> int:
    """Convert an argument to int.

    Args:
        name: str – name of the argument, for the error.
        value: an int, or an object with `__index__`, such as an integer of numpy.

    Raises:
        TypeError: the value is not an integer, or is a bool.

    >>> integer("min_count", 2)
    2
    """
    if type(value) is int:  # the general way below takes a microsecond
        return value
    if not hasattr(type(value), "__index__") or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    return operator.index(value)


def not_a_tokenizer(name: str, value: object) -> TypeError:
    """Return the error for an argument that is not a Tokenizer. name: name of the argument."""
    return TypeError(
        f"{name} must be a Tokenizer, not {type(value).__name__}; use fastbpe.load to load one from a file"
    )
