"""Numbers and ids in the forms that callers pass (lists, arrays, one number), and the errors for anything else."""

from __future__ import annotations

from operator import index
from types import GeneratorType, MappingProxyType

from fastbpe._utils.short_reprs import short_repr
from fastbpe.sentencepiece._errors import ArgumentTypeError, out_of_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Types of iterables that sentencepiece's binding takes for lists, besides sequences, sets and generators. It
#: compares their names, so it refuses subclasses, such as the keys of an OrderedDict.
_ITERABLES: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()), map, zip)


def whole_number(value: Any) -> int:
    """Convert any number except a Python float to int, as sentencepiece's binding does.

    Raises TypeError if the value is a Python float or not a number.
    """
    try:
        return index(value)
    except TypeError:
        if isinstance(value, float) or not hasattr(value, "__int__"):
            raise not_integers() from None
        return int(value)


def int32(name: str, value: Any) -> int:
    """Convert an argument to an int of 32 bits. Raises ArgumentTypeError if sentencepiece would refuse it."""
    try:
        number = whole_number(value)
        if -(1 << 31) <= number < 1 << 31:
            return number
    except TypeError:
        pass
    raise ArgumentTypeError(f"{name}={short_repr(value)}: must be a 32-bit int")


def flag(name: str, value: Any) -> bool:
    """Convert an argument to a bool. Raises ArgumentTypeError for a str or another value without `__bool__`."""
    if hasattr(value, "__bool__"):
        return bool(value)
    raise ArgumentTypeError(f"{name}={value!r:.80}: must be True or False")


def checked_ids(ids: Any) -> Any:
    """Return ids in a form that decoding accepts: a list, or a buffer of integers. Raises ArgumentTypeError."""
    if isinstance(ids, list):
        return ids
    if isinstance(ids, bytes):  # a piece
        raise not_integers()
    try:
        view = memoryview(ids)
    except TypeError:
        return _listed(ids)
    # Of any byte order: sentencepiece misreads another one than the machine's.
    if view.format.lstrip("@=<>!") not in tuple("bBhHiIlLqQnN"):
        raise ArgumentTypeError("Buffer must be of integer type")
    if view.ndim != 1:
        raise ArgumentTypeError("Buffer must be 1-dimensional")
    return ids


def ids_of_pieces(ids: Any, n_pieces: int) -> tuple[bool, list[int]]:
    """Return (whether `ids` is one id, the ids as ints).

    Raises the error of `id_error` if one is not an integer from 0 to n_pieces - 1.
    """
    is_one = _is_one(ids)
    checked = [ids] if is_one else checked_ids(ids)
    try:
        numbers = [*map(whole_number, checked)]
    except TypeError:
        raise id_error(checked) from None
    if not all(0 <= number < n_pieces for number in numbers):
        raise id_error(checked)
    return is_one, numbers


def id_error(ids: Any) -> Exception:
    """Return the error for ids if at least one of them is not an integer or has no piece.

    An integer beyond 32 bits has the wrong type in a list, but is out of range in a buffer, as in sentencepiece.
    """
    for i in ids:
        try:
            int32("id", i)
        except ArgumentTypeError:
            return not_integers() if isinstance(ids, list) else out_of_range()
    return out_of_range()


def items_of(sequence: Any) -> list[Any]:
    """Return the items of a sequence, read by number. Raises ArgumentTypeError for any other object."""
    if not _has_items(sequence):
        raise ArgumentTypeError(f"Input must be a list or another sequence, not {type(sequence).__name__}")
    return [sequence[i] for i in range(len(sequence))]


def _has_items(value: Any) -> bool:
    """Tell whether an object has a length and items by number: no dict, whose items are by key, and no text."""
    is_other = isinstance(value, (dict, MappingProxyType, str, bytes))
    return hasattr(type(value), "__getitem__") and hasattr(value, "__len__") and not is_other


def is_vector(value: Any) -> bool:
    """Tell whether sentencepiece's binding takes an object for a list."""
    is_iterable = isinstance(value, (set, frozenset, GeneratorType)) or type(value) in _ITERABLES
    return is_iterable or _has_items(value)


def _listed(ids: Any) -> list[Any]:
    if is_vector(ids):
        return list(ids)
    raise not_integers()


def not_integers() -> TypeError:
    return ArgumentTypeError("Input must be an integer buffer, list of integers, or a sequence of integers.")


def _is_one(ids: Any) -> bool:
    """Tell whether this is a single id. As in sentencepiece, a tensor is one if it has a single item."""
    try:
        index(ids)
    except TypeError:
        return False
    return True
