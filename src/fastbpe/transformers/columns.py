"""Columns of a batch (ids, masks, offsets) as lists: texts in frames, truncated and padded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastbpe.transformers.frames import Frame
from fastbpe.transformers.truncation import Truncation, lengths_of_pair, parts_of

Span = tuple[int, int]


class Encoded(NamedTuple):
    """Ids of one text, or of two, with their spans.

    ids: ids of each text.
    spans: spans of each text; None: not wanted.
    """

    ids: tuple[list[int], ...]
    spans: tuple[list[Span], ...] | None


class Wanted(NamedTuple):
    """Columns that a call asks for, besides the ids."""

    type_ids: bool
    attention_mask: bool
    special_mask: bool
    offsets: bool
    length: bool


def truncate(rows: list[Encoded], truncation: Truncation, *, overflowing: bool) -> list[list[Encoded]] | None:
    """Truncate each row.

    Returns:
        Per row what is kept and, if overflowing, the parts cut off; None if tokenizers raises an error for a row.
    """
    out: list[list[Encoded]] = []
    for row in rows:
        if len(row.ids) == 1:
            if truncation.strategy == "only_second" and len(row.ids[0]) > truncation.limit:
                return None
            parts = parts_of(truncation, len(row.ids[0]))
            out.append([_cut(row, (part,)) for part in (parts if overflowing else parts[:1])])
            continue
        n_first, n_second = len(row.ids[0]), len(row.ids[1])
        kept = lengths_of_pair(truncation, n_first, n_second)
        if kept is None or any(
            k < n and truncation.stride >= k for k, n in zip(kept, (n_first, n_second), strict=True)
        ):
            return None
        if truncation.left:
            cuts = ((n_first - kept[0], n_first), (n_second - kept[1], n_second))
        else:
            cuts = ((0, kept[0]), (0, kept[1]))
        out.append([_cut(row, cuts)])
    return out


def _cut(row: Encoded, cuts: Sequence[Span]) -> Encoded:
    ids = tuple(ids[start:end] for ids, (start, end) in zip(row.ids, cuts, strict=True))
    if row.spans is None:
        return Encoded(ids, None)
    return Encoded(ids, tuple(spans[start:end] for spans, (start, end) in zip(row.spans, cuts, strict=True)))


def padded_length(lengths: Sequence[int], padding: Mapping[str, Any]) -> int:
    """Return the length to which rows of these lengths are padded. Longer rows stay as they are.

    Args:
        lengths: numbers of ids.
        padding: settings as the property `padding` of a `tokenizers.Tokenizer` gives them.
    """
    length: int = max(lengths) if padding["length"] is None else padding["length"]
    multiple = padding["pad_to_multiple_of"]
    if multiple:
        length += -length % multiple
    return length


def build_columns(
    rows: Sequence[Encoded], frame: Frame, padding: Mapping[str, Any] | None, wanted: Wanted
) -> dict[str, list[Any]]:
    """Put rows into their frame, pad them, and return the columns by transformers' names, in its order."""
    counts = [tuple(map(len, row.ids)) for row in rows]
    ids = [_framed(row.ids, frame) for row in rows]
    lengths = [*map(len, ids)]
    n_pads = [0] * len(ids)
    if padding is not None:
        length = padded_length(lengths, padding)
        n_pads = [max(length - n, 0) for n in lengths]
        ids = _pad(ids, n_pads, padding["pad_id"], padding)
    columns: dict[str, list[Any]] = {"input_ids": ids}
    if wanted.type_ids:
        column = [_spread(count, frame, lambda item: item.type_id) for count in counts]
        columns["token_type_ids"] = _pad(column, n_pads, padding["pad_type_id"] if padding else 0, padding)
    if wanted.attention_mask:
        columns["attention_mask"] = _pad([[1] * n for n in lengths], n_pads, 0, padding)
    if wanted.special_mask:
        column = [_spread(count, frame, lambda item: int(item.sequence is None)) for count in counts]
        columns["special_tokens_mask"] = _pad(column, n_pads, 1, padding)
    if wanted.offsets:
        spans = [_framed_spans(row.spans or (), frame) for row in rows]
        columns["offset_mapping"] = _pad(spans, n_pads, (0, 0), padding)
    if wanted.length:
        columns["length"] = [len(one) for one in ids]
    return columns


def _framed(texts: Sequence[list[int]], frame: Frame) -> list[int]:
    if len(texts) == 1:
        return put_frame(texts[0], frame)
    ids: list[int] = []
    for item in frame.items:
        ids += item.ids if item.sequence is None else texts[item.sequence]
    return ids


def put_frame(ids: list[int], frame: Frame) -> list[int]:
    """Put the ids of a frame for one text into a list of ids, in place."""
    if frame.before:
        ids[:0] = frame.before
    if frame.behind:
        ids += frame.behind
    return ids


def _framed_spans(texts: Sequence[list[Span]], frame: Frame) -> list[Span]:
    spans: list[Span] = []
    for item in frame.items:
        spans += [(0, 0)] * len(item.ids) if item.sequence is None else texts[item.sequence]
    return spans


def _spread(counts: Sequence[int], frame: Frame, value_of: Any) -> list[int]:
    """Return a value of each item, repeated for each of its ids. counts: numbers of ids of the texts."""
    out: list[int] = []
    for item in frame.items:
        n = len(item.ids) if item.sequence is None else counts[item.sequence]
        out += [value_of(item)] * n
    return out


def _pad(
    column: list[list[Any]], n_pads: list[int], pad: Any, padding: Mapping[str, Any] | None
) -> list[list[Any]]:
    if padding is None:
        return column
    if padding["direction"] == "left":
        return [[pad] * n + one for one, n in zip(column, n_pads, strict=True)]
    return [one + [pad] * n for one, n in zip(column, n_pads, strict=True)]
