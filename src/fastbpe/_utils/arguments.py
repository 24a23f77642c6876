"""Checks of arguments."""

from __future__ import annotations

import operator

from fastbpe._utils.short_reprs import short_repr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOO_LARGE = 1 << 256  # no argument has a meaning from here on, and Python refuses to print more than 4,300 digits


def integer(name: str, value: Any) -> int:
    """Convert an argument to int.

    Args:
        name: str – name of the argument, for the error.
        value: an int, or an object with `__index__`, such as an integer of numpy.

    Raises:
        TypeError: the value is not an integer, or is a bool.
        ValueError: the value has more than 256 bits.

    >>> integer("min_count", 2)
    2
    """
    if type(value) is int and -_TOO_LARGE < value < _TOO_LARGE:  # the general way below is slower
        return value
    if not hasattr(type(value), "__index__") or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    found = operator.index(value)
    if abs(found) >= _TOO_LARGE:
        raise ValueError(f"{name} is {short_repr(found)}: too {'large' if found > 0 else 'small'}")
    return found


def decimal(digits: str) -> int:
    """Convert decimal digits of any script to an integer, also more digits than the 4,300 that `int` accepts.

    The result is exact up to 20 digits after leading zeros. For more digits, it is too small, but at least 10**19.

    >>> decimal("007"), decimal("9" * 5000) > 1 << 64, decimal("0"), decimal("\u0660" * 30 + "\u0667")
    (7, True, 0, 7)
    """
    first = next((i for i, digit in enumerate(digits) if int(digit)), len(digits))
    return int(digits[first : first + 20] or 0)


def not_a_tokenizer(name: str, value: object) -> TypeError:
    """Return the error for an argument that is not a Tokenizer. name: name of the argument."""
    return TypeError(
        f"{name} must be a Tokenizer, not {type(value).__name__}; use fastbpe.load to load one from a file"
    )


def is_text(value: Any) -> bool:
    """Tell whether a value is a str without lone surrogates."""
    # The methods of str itself: a subclass, such as an enum of strings, may have others.
    return isinstance(value, str) and str.encode(value, errors="ignore").decode() == str.__str__(value)
