"""Sequences of ids that are concatenated in one array and divided by offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from fastbpe._utils.batches import check_no_table
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.model import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_Batch = Iterable[Sequence[int] | Buffer]

_INTEGERS = frozenset("bBhHiIlLqQnN")  # format characters of the buffer protocol


def sequences(batch: _Batch | tuple[Buffer, Buffer]) -> _Batch:
    """Return the sequences of a batch: divide (ids, offsets) or Arrow lists; return any other batch unchanged.

    A tuple of exactly two arrays is (ids, offsets).

    Raises ValueError if the offsets decrease, or do not go from 0 to the number of ids, or an Arrow list is or
    contains null. Raises TypeError if ids or offsets are not one-dimensional arrays of integers, or the batch is a
    table with columns (pyarrow, pandas) or a mapping.
    """
    if type(batch) is tuple and len(batch) == 2 and all(_is_array(part) for part in batch):
        return _cut(memoryview(batch[0]), memoryview(batch[1]))  # type: ignore[arg-type]
    check_no_table(batch, "batch")
    if type(batch).__module__.partition(".")[0] == "pyarrow":
        from fastbpe.tokenizer.arrow import flat_lists  # here: few batches are Arrow's

        return (view for ids, offsets in flat_lists(batch) for view in _cut(ids, offsets))
    return batch


def _is_array(part: object) -> bool:
    """Tell whether half of a pair is an array; a pair of bytes is a batch of two texts, which decoding refuses."""
    if isinstance(part, (bytes, bytearray)):
        return False
    try:
        memoryview(part)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _cut(ids: memoryview, offsets: memoryview) -> Iterator[memoryview]:
    for name, view in (("ids", ids), ("offsets", offsets)):
        # An empty array may have any type: numpy.array([]) has floats.
        if view.ndim != 1 or (len(view) and view.format.lstrip("@=<>!") not in _INTEGERS):
            raise TypeError(
                f"{name} must be integers in one dimension: got an array with ndim={view.ndim} and format "
                f"{view.format!r}"
            )
    places = _native(offsets).tolist()
    for i, (start, end) in enumerate(pairwise(places)):
        if start > end:
            raise ValueError(f"offsets must not decrease: offsets[{i}] is {start} and offsets[{i + 1}] is {end}")
    if not places or places[0] != 0 or places[-1] != len(ids):
        actual = f"go from {places[0]} to {places[-1]}" if places else "are empty"
        raise ValueError(
            f"offsets must go from 0 to {len(ids)}, the number of ids; they {actual}. For a part of a batch, pass "
            "ids[offsets[a]:offsets[b]] and offsets[a:b + 1] - offsets[a]"
        )
    flat = _native(ids)
    return (flat[start:end] for start, end in pairwise(places))


def _native(view: memoryview) -> Any:
    """Return an array that Python can read: memoryview does not support formats such as "<q"."""
    return require_numpy("decode_batch of such arrays").asarray(view) if view.format[0] in "<>!=" else view
