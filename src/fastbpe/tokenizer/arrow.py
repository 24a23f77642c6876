"""Conversion of Arrow arrays of texts to Arrow lists of ids, and back, without a Python object per text or id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fastbpe._core.encode.batch_worker import encode_rows
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.text.text_batches import TextRows
from fastbpe._utils.batches import items_in
from fastbpe._utils.optional_imports import require_numpy, require_pyarrow_for
from fastbpe.corpus.table_files import as_bytes, is_text
from fastbpe.errors import note_place
from fastbpe.tokenizer.numpy_output import check_output, in_dtype

if TYPE_CHECKING:
    import numpy.typing as npt

Special = str | Collection[str]

_MAX_NARROW = (1 << 31) - 1  # maximum number of ids in a ListArray; a LargeListArray may have more


def to_arrow(
    encoder: Encoder,
    texts: Any,
    dtype: npt.DTypeLike,
    allowed_special: Special,
    disallowed_special: Special,
    num_threads: int | None,
    n_vocab: int,
) -> Any:
    """Encode texts into a pyarrow list array, or chunked array. See `Tokenizer.to_arrow`."""
    pyarrow, numpy = require_pyarrow_for("to_arrow"), require_numpy("to_arrow")
    wanted = check_output(numpy, dtype, None)

    def encoded(array: Any, first: int = 0) -> Any:
        try:
            ids, offsets = encode_rows(
                encoder, _rows(pyarrow, array), allowed_special, disallowed_special, num_threads
            )
        except ValueError as error:
            _note_row(encoder, array, first, allowed_special, disallowed_special, error)
            raise
        ids = in_dtype(numpy, numpy.frombuffer(ids, numpy.uint32), wanted, None, n_vocab)
        return _lists(pyarrow, numpy, ids, numpy.frombuffer(offsets, numpy.int64), array)

    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a list of texts, not one text: pass [text]")
    if isinstance(texts, pyarrow.ChunkedArray):
        chunks: list[Any] = []
        first = 0
        for chunk in texts.chunks:
            chunks.append(encoded(_as_strings(pyarrow, chunk), first))
            first += len(chunk)
        kinds = {chunk.type for chunk in chunks}
        if not chunks:
            return pyarrow.chunked_array([], pyarrow.list_(pyarrow.from_numpy_dtype(wanted)))
        large = pyarrow.large_list(chunks[0].type.value_type)
        return pyarrow.chunked_array(chunks if len(kinds) == 1 else [chunk.cast(large) for chunk in chunks])
    return encoded(_as_strings(pyarrow, texts))


def _as_strings(pyarrow: Any, texts: Any) -> Any:
    """Convert an array, or an iterable, to an array of bytes whose rows are contiguous in one buffer.

    Raises TypeError if it contains anything but texts and nulls.
    """
    if not isinstance(texts, pyarrow.Array):
        return _array_of(pyarrow, items_in(texts))
    if is_text(texts.type) or texts.type == pyarrow.null():
        texts = as_bytes(pyarrow, texts)
        return texts.cast(pyarrow.large_binary()) if str(texts.type) == "binary_view" else texts
    raise TypeError(f"texts must be an Arrow array of strings or binary, not of {texts.type}")


def _array_of(pyarrow: Any, texts: Iterable[Any]) -> Any:
    """Make an Arrow array of str, bytes or None in an iterable; a lone surrogate becomes U+FFFD."""
    from fastbpe._core.text.utf8_text import to_utf8

    rows = []
    for i, text in enumerate(texts):
        try:
            rows.append(None if text is None else to_utf8(text))
        except (TypeError, ValueError) as error:
            note_place(error, f"texts[{i}]")
            raise
    return pyarrow.array(rows, pyarrow.large_binary())


def _rows(pyarrow: Any, array: Any) -> TextRows:
    wide = pyarrow.types.is_large_binary(array.type)
    validity, offsets, data = array.buffers()
    if not array.null_count:
        validity = None
    return TextRows(data, offsets, validity, array.offset, len(array), wide=wide)


def _lists(pyarrow: Any, numpy: Any, ids: Any, offsets: Any, texts: Any) -> Any:
    """Return a list array from ids and offsets, with the nulls of the texts."""
    values = pyarrow.Array.from_buffers(
        pyarrow.from_numpy_dtype(ids.dtype), len(ids), [None, pyarrow.py_buffer(ids)]
    )
    is_narrow = len(ids) <= _MAX_NARROW
    kind = pyarrow.list_ if is_narrow else pyarrow.large_list
    places = pyarrow.py_buffer(offsets.astype(numpy.int32) if is_narrow else offsets)
    validity = None
    if texts.null_count:
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        validity = pyarrow.py_buffer(numpy.packbits(valid, bitorder="little"))
    return pyarrow.Array.from_buffers(
        kind(values.type), len(texts), [validity, places], null_count=texts.null_count, children=[values]
    )


def _note_row(
    encoder: Encoder, array: Any, first: int, allowed: Special, disallowed: Special, error: ValueError
) -> None:
    """Add a note to an error: the first row that raises an error when it is encoded alone.

    first: index in the texts of the array's first row.
    """
    for i, text in enumerate(array, first):
        if text.is_valid:
            try:
                encoder.encode(
                    text.as_buffer().to_pybytes(), allowed_special=allowed, disallowed_special=disallowed
                )
            except ValueError:
                note_place(error, f"texts[{i}]")
                return


def flat_lists(batch: Any) -> Iterator[tuple[memoryview, memoryview]]:
    """Yield (ids, offsets) for each chunk of an Arrow list array, or of a chunked array of lists.

    Raises ValueError if a row or an id is null, TypeError for anything but an array of lists of integers.
    """
    pyarrow, numpy = require_pyarrow_for("decode_batch"), require_numpy("decode_batch")
    kinds = pyarrow.types
    first = 0  # row of the batch at which the chunk begins
    for array in batch.chunks if isinstance(batch, pyarrow.ChunkedArray) else [batch]:
        is_list = isinstance(array, pyarrow.Array) and (
            kinds.is_list(array.type) or kinds.is_large_list(array.type)
        )
        if not is_list or not kinds.is_integer(array.type.value_type):
            raise TypeError(
                "batch must be an Arrow array of lists of integers (list or large_list), not "
                f"{getattr(array, 'type', batch)!r}"
            )
        array.validate(full=True)
        values = array.flatten()
        if array.null_count or values.null_count:
            bad = next(i for i, row in enumerate(array, first) if not row.is_valid or None in row.as_py())
            raise ValueError(f"batch[{bad}] is null or contains null: fill or drop nulls first")
        offsets = array.offsets.to_numpy().astype(numpy.int64)
        yield memoryview(values.to_numpy()), memoryview(offsets - offsets[0])
        first += len(array)
