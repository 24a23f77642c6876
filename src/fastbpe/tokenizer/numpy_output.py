"""Arrays of ids in the dtype or the memory that the caller chooses; flat arrays of ids cut into sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fastbpe.model import Buffer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.integer[Any]]
    DType = npt.DTypeLike
    Flat = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]

_INTEGERS = frozenset("bBhHiIlLqQnN")  # format characters of the buffer protocol


def check_output(numpy: Any, dtype: DType | None, out: Ids | None) -> Any:
    """Give the dtype that `dtype` and `out` ask for, before anything is encoded.

    Args:
        numpy: the module.
        dtype: integer dtype; None: that of `out`, or uint32.
        out: array to fill; None: a new one.

    Raises:
        ValueError: the dtype holds no integers, is that of another byte order, or differs from that of `out`; `out`
            has other than one dimension, or is read-only.
        TypeError: `out` is no numpy array.
    """
    if out is not None and not isinstance(out, numpy.ndarray):
        raise TypeError(f"out must be a numpy array, not {type(out).__name__}")
    try:
        wanted = numpy.dtype(out.dtype if dtype is None and out is not None else dtype or "uint32")
    except TypeError:
        raise ValueError(f'dtype={dtype!r} is no dtype: choose an integer one, such as "uint16"') from None
    if wanted.kind not in "iu" or not wanted.isnative:
        raise ValueError(f'dtype {wanted}: ids need an integer dtype of this machine, such as "uint16" or "uint32"')
    if out is None:
        return wanted
    if out.dtype != wanted:
        raise ValueError(f"out has the dtype {out.dtype}, not {wanted}: leave dtype= out, or give another array")
    if out.ndim != 1 or not out.flags.writeable:
        raise ValueError(f"out must be a writable array of one dimension; it has the shape {out.shape}")
    return wanted


def in_dtype(numpy: Any, ids: Any, wanted: Any, out: Ids | None, n_vocab: int) -> Any:
    """Convert ids to a dtype, in a new array or in the first items of `out`.

    Args:
        numpy: the module.
        ids: uint32 array.
        wanted: dtype, as `check_output` gives it.
        out: array to fill, or None.
        n_vocab: all ids are below it.

    Raises:
        ValueError: `out` is too small, or the dtype cannot hold an id; nothing is written then.
    """
    if out is not None and len(ids) > len(out):
        raise ValueError(f"out has room for {len(out)} ids, and the text has {len(ids)}: give a larger array")
    greatest = numpy.iinfo(wanted).max
    if n_vocab - 1 > greatest and len(ids) and int(ids.max()) > greatest:
        at = int((ids > greatest).argmax())
        raise ValueError(
            f'{wanted} holds ids up to {greatest}, and id {ids[at]} at position {at} is greater: choose dtype="uint32"'
        )
    if out is None:
        return ids.astype(wanted, copy=False)
    out[: len(ids)] = ids
    return out[: len(ids)]


def sequences(batch: Iterable[Sequence[int] | Buffer] | Flat) -> Iterable[Sequence[int] | Buffer]:
    """Give the sequences of a batch: cut (ids, offsets) and Arrow lists; any other batch as it is.

    A tuple of exactly two arrays is (ids, offsets).

    Raises:
        ValueError: the offsets do not rise from 0 to the number of ids.
        TypeError: ids or offsets are no integers in one dimension.
    """
    if type(batch) is tuple and len(batch) == 2 and all(_is_array(part) for part in batch):
        return _cut(memoryview(batch[0]), memoryview(batch[1]))  # type: ignore[arg-type]
    if type(batch).__module__.partition(".")[0] == "pyarrow":
        from fastbpe.tokenizer.arrow import flat_lists  # here: few batches are Arrow's

        return (view for ids, offsets in flat_lists(batch) for view in _cut(ids, offsets))
    return batch


def _is_array(part: object) -> bool:
    if isinstance(part, (bytes, bytearray, str, list, tuple)):
        return False
    try:
        memoryview(part)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _cut(ids: memoryview, offsets: memoryview) -> Iterator[memoryview]:
    for name, view in (("ids", ids), ("offsets", offsets)):
        if view.ndim != 1 or (len(view) and view.format.lstrip("@=<>!") not in _INTEGERS):
            raise TypeError(f"{name} must be integers in one dimension: got format {view.format!r}")
    places = _as_list(offsets)
    for i, (start, end) in enumerate(zip(places, places[1:], strict=False)):
        if start > end:
            raise ValueError(f"offsets must not fall: offsets[{i}] is {start} and offsets[{i + 1}] is {end}")
    if not places or places[0] != 0 or places[-1] != len(ids):
        told = f"go from {places[0]} to {places[-1]}" if places else "are empty"
        raise ValueError(
            f"offsets must go from 0 to {len(ids)}, the number of ids; they {told}. For a part of a batch, give "
            "ids[offsets[a]:offsets[b]] and offsets[a:b + 1] - offsets[a]"
        )
    return (ids[start:end] for start, end in zip(places, places[1:], strict=False))


def _as_list(offsets: memoryview) -> list[int]:
    try:
        return offsets.tolist()
    except NotImplementedError:  # a format with a byte order, such as "<q"
        from fastbpe._utils.optional_imports import require_numpy

        return require_numpy("decode_batch of such offsets").asarray(offsets).tolist()  # type: ignore[no-any-return]
