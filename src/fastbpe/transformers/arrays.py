"""Columns of a batch as numpy arrays, built without lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbpe._core.ids.padded_rows import fill_mask, fill_rows
from fastbpe.huggingface.columns import Wanted, padded_length
from fastbpe.huggingface.frames import Frame
from fastbpe.huggingface.rows import Plan, check_trimming, n_first_ids
from fastbpe.tokenizer.cutting.beginnings import encode_beginnings
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.plans import tokenizer_for_offsets


def build_arrays(engine: Engine, plan: Plan, texts: Sequence[str], wanted: Wanted) -> dict[str, Any] | None:
    """Encode single texts into int64 arrays of shape (n_texts, length); offsets have (n_texts, length, 2).

    Returns columns with transformers' names; None if rows have different lengths, truncating one is an error, or
    offsets are wanted but there are no ids. Raises HandOver if the original must handle the call.
    """
    frame, padding, truncation = plan.frame, plan.padding, plan.truncation
    tokenizer = plan.tokenizer
    if wanted.offsets:
        check_trimming(truncation, by_place=engine.trims_by_place())
        tokenizer = tokenizer_for_offsets(engine)
    ids, spans, ends = _encode(tokenizer, plan, texts, offsets=wanted.offsets)
    starts, counts = ends[:-1], np.diff(ends)
    if truncation is not None:
        kept = np.minimum(counts, truncation.limit)
        if truncation.strategy == "only_second" and (kept < counts).any():
            return None
        if truncation.left:
            starts = starts + (counts - kept)
        counts = kept
    totals = counts + frame.n_added
    lengths = totals.tolist()
    length = max(lengths) if padding is None else padded_length(lengths, padding)
    if max(lengths) > length or (padding is None and min(lengths) < length):
        return None
    if not length and wanted.offsets:
        return None  # the original's array of no offsets has another shape
    is_left = padding is not None and padding["direction"] == "left"
    pad_id = 0 if padding is None else padding["pad_id"]
    out = np.full((len(texts), length), pad_id, dtype=np.int64)
    firsts = length - totals if is_left else np.zeros(len(texts), dtype=np.int64)
    before = firsts + len(frame.before)
    fill_rows(ids, starts, counts, before, out)
    columns = {"input_ids": out}
    inside = np.zeros((len(texts), length), dtype=np.int64)
    fill_mask(totals, firsts, inside)
    if frame.n_added:
        _put(out, frame, [item.ids for item in frame.items], firsts, counts)
    if wanted.type_ids:
        types, pad = [item.type_id for item in frame.items], padding["pad_type_id"] if padding else 0
        columns["token_type_ids"] = _spread(frame, types, firsts, counts, inside, pad)
    if wanted.attention_mask:
        columns["attention_mask"] = inside
    if wanted.special_mask:
        masks = [int(item.sequence is None) for item in frame.items]
        columns["special_tokens_mask"] = _spread(frame, masks, firsts, counts, inside, 1)
    if wanted.offsets:
        columns["offset_mapping"] = np.zeros((len(texts), length, 2), dtype=np.int64)
        places = zip(columns["offset_mapping"], starts.tolist(), counts.tolist(), before.tolist(), strict=True)
        for row, start, n, column in places:
            row[column : column + n] = spans[start : start + n]
    if wanted.length:
        columns["length"] = np.full(len(texts), length, dtype=np.int64)
    return columns


def _encode(tokenizer: Tokenizer, plan: Plan, texts: Sequence[str], *, offsets: bool) -> tuple[Any, Any, Any]:
    """Encode at least the part of each text that truncation keeps.

    Returns the ids of all texts, their spans or None, and where each text's ids end, after a 0.
    """
    special: dict[str, Any] = {"disallowed_special": ()} if plan.splits_special else {"allowed_special": "all"}

    def encode(texts: Sequence[str]) -> tuple[Any, Any, Any]:
        if offsets:
            return tokenizer.encode_batch_with_offsets(texts, **special, as_numpy=True)
        ids, ends = tokenizer.encode_batch_to_numpy(texts, **special)
        return ids, None, ends

    limit = None if plan.truncation is None else n_first_ids(plan.truncation)
    if limit is None:
        return encode(texts)
    return encode_beginnings(
        encode, lambda made: np.diff(made[2]).tolist(), tokenizer, texts, limit, splits_special=plan.splits_special
    )


def _put(out: Any, frame: Frame, values: Sequence[Sequence[int]], firsts: Any, counts: Any) -> None:
    """Write the frame's values into each row of `out`.

    values: one value per id of each item of the frame. firsts: column of the first id of each row.
    counts: number of ids of each row's text.
    """
    rows, at = np.arange(len(out)), firsts
    for item, its in zip(frame.items, values, strict=True):
        for value in its:
            out[rows, at] = value
            at = at + 1  # a new array: the caller still needs `firsts`
        if item.sequence is not None:
            at = at + counts


def _spread(frame: Frame, values: list[int], firsts: Any, counts: Any, inside: Any, pad: int) -> Any:
    """Return an array with the value of an item of the frame at each of its ids, and pad elsewhere.

    values: one per item. inside: 1 for each id that is not padding. firsts, counts: as for `_put`.
    """
    text = next(value for item, value in zip(frame.items, values, strict=True) if item.sequence is not None)
    out = np.where(inside, np.int64(text), np.int64(pad))
    of_ids = [[value] * len(item.ids) for item, value in zip(frame.items, values, strict=True)]
    _put(out, frame, of_ids, firsts, counts)
    return out
