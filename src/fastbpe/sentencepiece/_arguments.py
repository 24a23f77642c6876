"""Ids as callers give them (lists, arrays, one number), and the errors for anything else."""

from __future__ import annotations

from typing import Any

from fastbpe.sentencepiece._errors import ArgumentTypeError, out_of_range


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
        raise _not_integers()
    is_one = _is_one(ids)
    checked = [ids] if is_one else checked_ids(ids)
    listed = list(checked)
    for i in listed:
        if not hasattr(i, "__index__") or not 0 <= i.__index__() < n_pieces:
            raise id_error(checked)
    return is_one, [i.__index__() for i in listed]


def id_error(ids: Any) -> Exception:
    """Return the error for a list of ids with an id that no piece has."""
    for i in ids:
        if not hasattr(i, "__index__") or not -(1 << 31) <= i.__index__() < 1 << 31:
            return _not_integers() if isinstance(ids, list) else out_of_range()
    return out_of_range()


def _listed(ids: Any) -> list[Any]:
    if hasattr(ids, "__len__") and not isinstance(ids, (str, dict)):
        return list(ids)
    raise _not_integers()


def _not_integers() -> TypeError:
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
