"""Numbers and ids as callers give them (lists, arrays, one number), and the errors for anything else."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index

from fastbpe.sentencepiece._errors import ArgumentTypeError, out_of_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def whole_number(value: Any) -> int:
    """Convert to int any number but a float, as sentencepiece's binding does.

    Raises:
        TypeError: it is not a number, or a float.
    """
    try:
        return index(value)
    except TypeError:
        if isinstance(value, float) or not hasattr(value, "__int__"):
            raise not_integers() from None
        return int(value)


def int32(name: str, value: Any) -> int:
    """Convert an argument to an int of 32 bits. Raises ArgumentTypeError for what sentencepiece does not take."""
    try:
        number = whole_number(value)
        if -(1 << 31) <= number < 1 << 31:
            return number
    except TypeError:
        pass
    raise ArgumentTypeError(f"{name}={value!r:.80}: must be a 32-bit int")


def checked_ids(ids: Any) -> Any:
    """Return ids in a form that decoding reads: a list, or a buffer of integers."""
    if isinstance(ids, list):
        return ids
    if isinstance(ids, (bytes, bytearray)):
        return list(ids)
    try:
        view = memoryview(ids)
    except TypeError:
        return _listed(ids)
    if view.format.lstrip("@=<>!") not in tuple("bBhHiIlLqQnN"):
        raise ArgumentTypeError("Buffer must be of integer type")
    if view.ndim != 1:
        raise ArgumentTypeError("Buffer must be 1-dimensional")
    return ids


def ids_of_pieces(ids: Any, n_pieces: int) -> tuple[bool, list[int]]:
    """Return (whether `ids` is one id, the ids as ints). Raises for ids that are not below n_pieces."""
    if isinstance(ids, bytes):
        raise not_integers()
    is_one = _is_one(ids)
    checked = [ids] if is_one else checked_ids([*ids] if isinstance(ids, Iterator) else ids)
    try:
        numbers = [*map(whole_number, checked)]
    except TypeError:
        raise id_error(checked) from None
    if not all(0 <= number < n_pieces for number in numbers):
        raise id_error(checked)
    return is_one, numbers


def id_error(ids: Any) -> Exception:
    """Return the error for a list of ids with an id that no piece has."""
    for i in ids:
        try:
            int32("id", i)
        except ArgumentTypeError:
            return not_integers() if isinstance(ids, list) else out_of_range()
    return out_of_range()


def _listed(ids: Any) -> list[Any]:
    if hasattr(ids, "__len__") and not isinstance(ids, (str, dict)):
        return list(ids)
    raise not_integers()


def not_integers() -> TypeError:
    """Return the error for ids that are not integers."""
    return ArgumentTypeError("Input must be an integer buffer, list of integers, or a sequence of integers.")


def _is_one(ids: Any) -> bool:
    """Tell one id from several. A numpy array without dimensions is one id, and has no length."""
    if not hasattr(ids, "__index__"):
        return False
    try:
        len(ids)
    except TypeError:
        return True
    return False
