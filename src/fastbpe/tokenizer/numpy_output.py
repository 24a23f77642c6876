"""Arrays of ids with the caller's dtype, or in the caller's array."""

from __future__ import annotations

from itertools import chain

from fastbpe._utils.batches import OneText
from fastbpe._utils.optional_imports import require_numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    from fastbpe._core.encode.encoder import Encoder
    from fastbpe._utils.choices import Special

    Ids = npt.NDArray[np.integer[Any]]
    DType = npt.DTypeLike


def encode(
    caller: str,
    encoder: Encoder,
    n_vocab: int,
    template: tuple[list[int], list[int]] | None,
    texts: Iterable[str | bytes],
    dtype: DType | None,
    out: Ids | None,
    dropout: float | None,
    seed: int | None,
    allowed_special: Special,
    disallowed_special: Special,
    num_threads: int | None,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Encode texts for `Tokenizer.encode_to_numpy` and `Tokenizer.encode_batch_to_numpy`; return (ids, offsets).

    caller: name of the method, for an error. template: ids before and after each text; None: no ids.

    The other arguments are as for `Tokenizer.encode_batch_to_numpy`. For a OneText, errors have no index.
    """
    numpy = require_numpy(caller)
    wanted = None if dtype is None and out is None else check_output(numpy, dtype, out)
    if dropout is None and seed is None:
        found, places = encoder._encode_to_array(texts, allowed_special, disallowed_special, num_threads)
        ids, offsets = numpy.frombuffer(found, numpy.uint32), numpy.frombuffer(places, numpy.int64)
    else:
        options: Any = {"num_threads": num_threads, "dropout": dropout, "seed": seed}
        options |= {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
        if isinstance(texts, OneText):
            lists = [encoder.encode(text, **options) for text in texts]
        else:
            lists = encoder.encode_batch(texts, **options)
        ids, offsets = _end_to_end(numpy, lists)
    if template is not None:
        n_vocab = max(n_vocab, 1 + max(chain(*template), default=0))  # some files have ids without a token there
        ids, offsets = _around(numpy, ids, offsets, *template)
    if wanted is not None:
        ids = in_dtype(numpy, ids, wanted, out, n_vocab)
    return ids, offsets


def check_output(numpy: Any, dtype: DType | None, out: Ids | None) -> Any:
    """Return the dtype that results from `dtype` and `out`, before anything is encoded.

    dtype: integer dtype; None: the dtype of `out`, or uint32. out: array to fill; None: a new one.

    Raises ValueError if the dtype is not an integer type, has another byte order, or differs from `out`'s, or if
    `out` is not one-dimensional or is read-only; TypeError if `out` is not a numpy array.
    """
    if out is not None and not isinstance(out, numpy.ndarray):
        raise TypeError(f"out must be a numpy array, not {type(out).__name__}")
    try:
        wanted = numpy.dtype(out.dtype if dtype is None and out is not None else dtype or "uint32")
    except TypeError:
        raise ValueError(f'dtype={dtype!r} is not a dtype: choose an integer one, such as "uint16"') from None
    if wanted.kind not in "iu" or not wanted.isnative:
        raise ValueError(
            f"dtype {wanted}: ids need an integer dtype in the byte order of this machine, such as "
            '"uint16" or "uint32"'
        )
    if out is None:
        return wanted
    if out.dtype != wanted:
        raise ValueError(f"out has the dtype {out.dtype}, not {wanted}: leave dtype= out, or pass another array")
    if out.ndim != 1 or not out.flags.writeable:
        found = f"it has the shape {out.shape}" if out.ndim != 1 else "it is read-only"
        raise ValueError(f"out must be a writable array of one dimension; {found}")
    return wanted


def _end_to_end(numpy: Any, lists: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Concatenate lists of ids into a uint32 array, and return it with the int64 offsets of the lists."""
    offsets = numpy.zeros(len(lists) + 1, numpy.int64)
    numpy.cumsum([len(ids) for ids in lists], out=offsets[1:])
    return numpy.fromiter(chain.from_iterable(lists), numpy.uint32, int(offsets[-1])), offsets


def in_dtype(numpy: Any, ids: Any, wanted: Any, out: Ids | None, n_vocab: int) -> Any:
    """Convert uint32 ids to a dtype, from `check_output`, in a new array or in the first items of `out`.

    n_vocab: one more than the greatest possible id; only a dtype below it needs a look at the ids.

    Raises ValueError if `out` is too small, or the dtype is too small for an id; nothing is written then.
    """
    if out is not None and len(ids) > len(out):
        raise ValueError(f"out has the length {len(out)}, but needs {len(ids)}: pass a larger array")
    greatest = numpy.iinfo(wanted).max
    if n_vocab - 1 > greatest and len(ids) and int(ids.max()) > greatest:
        at = int((ids > greatest).argmax())
        way_out = 'choose dtype="uint32"' if out is None else "pass an array of uint32 as out="
        raise ValueError(
            f"{wanted} is too small for id {ids[at]} at position {at}: its limit is {greatest}; {way_out}"
        )
    if out is None:
        return ids.astype(wanted, copy=False)
    out[: len(ids)] = ids
    return out[: len(ids)]


def _around(numpy: Any, ids: Any, offsets: Any, before: Sequence[int], behind: Sequence[int]) -> tuple[Any, Any]:
    """Put ids before and after each text; return the new (ids, offsets)."""
    if not before and not behind:
        return ids, offsets
    n_around = len(before) + len(behind)
    moved = offsets + n_around * numpy.arange(len(offsets), dtype=numpy.int64)
    made = numpy.empty(moved[-1], numpy.uint32)
    is_text = numpy.ones(len(made), bool)
    for i, token_id in enumerate(before):
        places = moved[:-1] + i
        made[places], is_text[places] = token_id, False
    for i, token_id in enumerate(reversed(behind), 1):
        places = moved[1:] - i
        made[places], is_text[places] = token_id, False
    made[is_text] = ids
    return made, moved
