"""Columns of a batch as numpy arrays, without a list in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbpe.transformers.columns import Wanted, padded_length
from fastbpe.transformers.frames import Frame
from fastbpe.transformers.rows import Plan


def build_arrays(plan: Plan, texts: Sequence[str | bytes], wanted: Wanted) -> dict[str, Any] | None:
    """Encode single texts into int64 arrays of shape (n_texts, length).

    Returns:
        Columns by transformers' names; None if rows have different lengths.
    """
    tokenizer, frame, padding, truncation = plan.tokenizer, plan.frame, plan.padding, plan.truncation
    if plan.splits_special:
        ids, ends = tokenizer.encode_batch_to_numpy(texts, disallowed_special=())
    else:
        ids, ends = tokenizer.encode_batch_to_numpy(texts, allowed_special="all")
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
    is_left = padding is not None and padding["direction"] == "left"
    pad_id = 0 if padding is None else padding["pad_id"]
    out = np.full((len(texts), length), pad_id, dtype=np.int64)
    before = len(frame.before)
    firsts = [length - n if is_left else 0 for n in lengths]
    for row, start, n, first in zip(out, starts.tolist(), counts.tolist(), firsts, strict=True):
        row[first + before : first + before + n] = ids[start : start + n]
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
    if wanted.length:
        columns["length"] = np.full(len(texts), length, dtype=np.int64)
    return columns


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
