"""Columns of a batch as numpy arrays, without a list in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbpe.fitting.padding import padded_length
from fastbpe.transformers.columns import Wanted
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.frames import Frame
from fastbpe.transformers.rows import Plan, tokenizer_for_offsets


def build_arrays(
    engine: Engine, plan: Plan, texts: Sequence[str | bytes], wanted: Wanted
) -> dict[str, Any] | None:
    """Encode single texts into int64 arrays of shape (n_texts, length), offsets of (n_texts, length, 2).

    Returns:
        Columns by transformers' names; None if rows have different lengths, or offsets are asked for and there are
        none.

    Raises:
        HandOver: the original must answer.
    """
    frame, padding, truncation = plan.frame, plan.padding, plan.truncation
    special: dict[str, Any] = {"disallowed_special": ()} if plan.splits_special else {"allowed_special": "all"}
    spans: Any = None
    if wanted.offsets:
        tokenizer = tokenizer_for_offsets(engine, truncation)
        ids, spans, ends = tokenizer.encode_batch_with_offsets(texts, **special, as_numpy=True)
    else:
        ids, ends = plan.tokenizer.encode_batch_to_numpy(texts, **special)
    starts, counts = ends[:-1], np.diff(ends)
    if truncation is not None:
        kept = np.minimum(counts, truncation.limit)
        if truncation.strategy == "only_second" and (kept < counts).any():
            return None
        if truncation.left:
            starts = starts + (counts - kept)
        counts = kept
    lengths = (counts + frame.n_added).tolist()
    length = max(lengths) if padding is None else padded_length(lengths, padding)
    if max(lengths) > length or (padding is None and min(lengths) < length):
        return None
    if not length and wanted.offsets:
        return None  # stock's array of no offsets has another shape
    is_left = padding is not None and padding["direction"] == "left"
    pad_id = 0 if padding is None else padding["pad_id"]
    out = np.full((len(texts), length), pad_id, dtype=np.int64)
    firsts = [length - n if is_left else 0 for n in lengths]
    places = [*zip(starts.tolist(), counts.tolist(), (first + len(frame.before) for first in firsts), strict=True)]
    _copy(ids, out, places)
    columns = {"input_ids": out}
    inside = _inside(lengths, length, is_left=is_left)
    if frame.n_added:
        _put_frame(out, frame, firsts, counts)
    if wanted.type_ids:
        columns["token_type_ids"] = _spread(
            frame,
            [item.type_id for item in frame.items],
            firsts,
            counts,
            inside,
            padding["pad_type_id"] if padding else 0,
        )
    if wanted.attention_mask:
        columns["attention_mask"] = inside.astype(np.int64)
    if wanted.special_mask:
        masks = [int(item.sequence is None) for item in frame.items]
        columns["special_tokens_mask"] = _spread(frame, masks, firsts, counts, inside, 1)
    if wanted.offsets:
        columns["offset_mapping"] = np.zeros((len(texts), length, 2), dtype=np.int64)
        _copy(spans, columns["offset_mapping"], places)
    if wanted.length:
        columns["length"] = np.full(len(texts), length, dtype=np.int64)
    return columns


def _copy(values: Any, out: Any, places: list[tuple[int, int, int]]) -> None:
    """Copy values into the rows of an array. places: for each row (first value, number, first column)."""
    for row, (start, n, column) in zip(out, places, strict=True):
        row[column : column + n] = values[start : start + n]


def _inside(lengths: list[int], length: int, *, is_left: bool) -> Any:
    """Return an array that is True where a row has an id that is no padding."""
    places = np.arange(length)
    counts = np.asarray(lengths, dtype=np.int64)[:, None]
    return places >= length - counts if is_left else places < counts


def _put_frame(out: Any, frame: Frame, firsts: list[int], counts: Any) -> None:
    """Write the ids of the frame into each row."""
    rows, at = np.arange(len(out)), np.asarray(firsts, dtype=np.int64)
    for item in frame.items:
        for token_id in item.ids:
            out[rows, at] = token_id
            at = at + 1
        if item.sequence is not None:
            at = at + counts


def _spread(frame: Frame, values: list[int], firsts: list[int], counts: Any, inside: Any, pad: int) -> Any:
    """Return an array with a value of each item at each of its ids, and pad elsewhere."""
    text = next(value for item, value in zip(frame.items, values, strict=True) if item.sequence is not None)
    out = np.where(inside, np.int64(text), np.int64(pad))
    rows, at = np.arange(len(out)), np.asarray(firsts, dtype=np.int64)
    for item, value in zip(frame.items, values, strict=True):
        for _ in item.ids:
            out[rows, at] = value
            at = at + 1
        if item.sequence is not None:
            at = at + counts
    return out
