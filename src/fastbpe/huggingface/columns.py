"""Columns of a batch (ids, masks, offsets) as lists: texts in frames, truncated and padded."""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.huggingface.frames import Frame, Item
from fastbpe.huggingface.truncation_rules import Truncation, lengths_of_pair, pairs_of_parts, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

Span = tuple[int, int]


class Encoded(NamedTuple):
    """Ids of one text, or of two, with their spans.

    ids: ids of each text.
    spans: for each text, start and end of each id in characters; None: the caller needs no spans.
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
    """Truncate each row: return its kept part and, if overflowing, the parts cut off.

    Returns None if tokenizers would raise an error for a row.
    """
    out: list[list[Encoded]] = []
    for row in rows:
        cuts = cuts_of([*map(len, row.ids)], truncation)
        if cuts is None:
            return None
        out.append([_cut(row, cut) for cut in (cuts if overflowing else cuts[:1])])
    return out


def cuts_of(lengths: Sequence[int], truncation: Truncation) -> Sequence[tuple[Span, ...]] | None:
    """Return the parts into which truncation cuts texts: (start, end) in each, the kept part first.

    Returns None if tokenizers would raise an error. lengths: number of ids of each of one or two texts.
    """
    if len(lengths) == 1:
        if truncation.strategy == "only_second" and lengths[0] > truncation.limit:
            return None
        return [(part,) for part in parts_of(truncation, lengths[0], truncation.limit)]
    kept = lengths_of_pair(truncation, *lengths)
    if kept is None or any(k < n and truncation.stride >= k for k, n in zip(kept, lengths, strict=True)):
        return None
    return pairs_of_parts(*(parts_of(truncation, n, k) for n, k in zip(lengths, kept, strict=True)))


def _cut(row: Encoded, cuts: Sequence[Span]) -> Encoded:
    ids = tuple(ids[start:end] for ids, (start, end) in zip(row.ids, cuts, strict=True))
    if row.spans is None:
        return Encoded(ids, None)
    return Encoded(ids, tuple(spans[start:end] for spans, (start, end) in zip(row.spans, cuts, strict=True)))


class Layout(NamedTuple):
    """Origin of each id of a batch: a text, the frame, or padding.

    frame: frame of the rows.
    counts: for each row, the number of ids of each text.
    n_pads: number of padding ids of each row.
    padded: length to which shorter rows are padded; 0: rows are not padded.
    padding: value of the property `padding` of a `tokenizers.Tokenizer`; None: no padding.
    """

    frame: Frame
    counts: list[tuple[int, ...]]
    n_pads: list[int]
    padded: int
    padding: Mapping[str, Any] | None

    def length(self, i: int) -> int:
        """Return the number of ids of row i without padding."""
        return sum(self.counts[i]) + self.frame.n_added

    def ids(self, i: int, texts: Sequence[list[int]]) -> list[int]:
        """Put the ids of row i's texts into the frame, and pad them. A list of ids may be changed in place."""
        pad = self.padding["pad_id"] if self.padding else 0
        if len(texts) == 1:
            return self._pad(i, put_frame(texts[0], self.frame), pad)
        return self._place(i, texts, lambda item: item.ids, pad)

    def spans(self, i: int, row: Encoded) -> list[Span]:
        """Return a span for each id of row i; (0, 0) for an id without text. Requires: the row has spans."""
        assert row.spans is not None
        return self._place(i, row.spans, lambda item: [(0, 0)] * len(item.ids), (0, 0))

    def tokens(self, i: int, texts: Sequence[list[str]]) -> list[str]:
        return self._place(i, texts, lambda item: item.tokens, self.padding["pad_token"] if self.padding else "")

    def words(self, i: int, texts: Sequence[list[int]]) -> list[int | None]:
        """Return the word number of each id of row i; None for an id outside of words."""
        return self._place(i, texts, lambda item: [None] * len(item.ids), None)

    def ranges(self, i: int) -> dict[int, tuple[int, int]]:
        """Return start and end of each text among the ids of row i; empty: all ids belong to one text."""
        return {} if self.frame.padding_sequence is not None else self.places(i)

    def places(self, i: int) -> dict[int, tuple[int, int]]:
        """Return start and end of each text among the ids of row i."""
        found: dict[int, tuple[int, int]] = {}
        at = self.n_pads[i] if self.padding is not None and self.padding["direction"] == "left" else 0
        for item in self.frame.items:
            n = len(item.ids) if item.sequence is None else self.counts[i][item.sequence]
            if item.sequence is not None:
                found[item.sequence] = at, at + n
            at += n
        return found

    def type_ids(self, i: int) -> list[int]:
        return self._spread(i, lambda item: item.type_id, self.padding["pad_type_id"] if self.padding else 0)

    def attention_mask(self, i: int) -> list[int]:
        """Return 0 for each padding id of row i, 1 for each other."""
        return self._pad(i, [1] * self.length(i), 0)

    def special_mask(self, i: int) -> list[int]:
        """Return 1 for each id of row i that belongs to the frame or the padding, 0 for each id of a text."""
        return self._spread(i, lambda item: int(item.sequence is None), 1)

    def sequences(self, i: int) -> list[int | None]:
        """Return the text's number for each id of row i; None for the frame, `padding_sequence` for padding."""
        return self._spread(i, lambda item: item.sequence, self.frame.padding_sequence)

    def _spread(self, i: int, value_of: Callable[[Item], Any], pad: Any) -> list[Any]:
        """Return a value of each item, repeated for each of its ids."""
        out: list[Any] = []
        for item in self.frame.items:
            n = len(item.ids) if item.sequence is None else self.counts[i][item.sequence]
            out += [value_of(item)] * n
        return self._pad(i, out, pad)

    def _place(
        self, i: int, texts: Sequence[list[Any]], values_of: Callable[[Item], Sequence[Any]], pad: Any
    ) -> list[Any]:
        """Put the values of the texts and of the frame in order, and pad them."""
        out: list[Any] = []
        for item in self.frame.items:
            out += values_of(item) if item.sequence is None else texts[item.sequence]
        return self._pad(i, out, pad)

    def _pad(self, i: int, column: list[Any], pad: Any) -> list[Any]:
        n = self.n_pads[i]
        if not n:
            return column
        assert self.padding is not None
        return [pad] * n + column if self.padding["direction"] == "left" else column + [pad] * n


def lay_out(rows: Sequence[Encoded], frame: Frame, padding: Mapping[str, Any] | None) -> Layout:
    """Lay out a batch: the frame around each row, then padding."""
    counts = [tuple(map(len, row.ids)) for row in rows]
    n_pads, padded = [0] * len(counts), 0
    if padding is not None:
        lengths = [sum(count) + frame.n_added for count in counts]
        padded = padded_length(lengths, padding)
        n_pads = [max(padded - n, 0) for n in lengths]
    return Layout(frame, counts, n_pads, padded, padding)


def build_columns(
    rows: Sequence[Encoded], frame: Frame, padding: Mapping[str, Any] | None, wanted: Wanted
) -> dict[str, list[Any]]:
    """Put rows into their frame, pad them, and return the columns with transformers' names and in its order."""
    if padding is None and all(len(row.ids) == 1 for row in rows):
        return _build_unpadded(rows, frame, wanted)
    layout, places = lay_out(rows, frame, padding), range(len(rows))
    columns: dict[str, list[Any]] = {"input_ids": [*map(layout.ids, places, (row.ids for row in rows))]}
    if wanted.type_ids:
        columns["token_type_ids"] = [*map(layout.type_ids, places)]
    if wanted.attention_mask:
        columns["attention_mask"] = [*map(layout.attention_mask, places)]
    if wanted.special_mask:
        columns["special_tokens_mask"] = [*map(layout.special_mask, places)]
    if wanted.offsets:
        columns["offset_mapping"] = [*map(layout.spans, places, rows)]
    if wanted.length:
        columns["length"] = [len(ids) for ids in columns["input_ids"]]
    return columns


def _build_unpadded(rows: Sequence[Encoded], frame: Frame, wanted: Wanted) -> dict[str, list[Any]]:
    """Do what `build_columns` does, faster: for rows of one text, without padding. Changes their lists."""
    columns: dict[str, list[Any]] = {"input_ids": [put_frame(row.ids[0], frame) for row in rows]}
    lengths = [*map(len, columns["input_ids"])]
    if wanted.type_ids:
        columns["token_type_ids"] = _repeat(frame, lengths, lambda item: item.type_id)
    if wanted.attention_mask:
        columns["attention_mask"] = [[1] * n for n in lengths]
    if wanted.special_mask:
        columns["special_tokens_mask"] = _repeat(frame, lengths, lambda item: int(item.sequence is None))
    if wanted.offsets:
        before, behind = [(0, 0)] * len(frame.before), [(0, 0)] * len(frame.behind)
        columns["offset_mapping"] = []
        for row in rows:
            assert row.spans is not None
            spans = row.spans[0]
            if frame.n_added:
                spans[:0] = before
                spans += behind
            columns["offset_mapping"].append(spans)
    if wanted.length:
        columns["length"] = lengths
    return columns


def _repeat(frame: Frame, lengths: Sequence[int], value_of: Callable[[Item], int]) -> list[list[int]]:
    """Return for each row one value per id: the frame's values for its ids, another value for the ids of texts."""
    place = [item.sequence for item in frame.items].index(0)
    before = [value_of(item) for item in frame.items[:place] for _ in item.ids]
    behind = [value_of(item) for item in frame.items[place + 1 :] for _ in item.ids]
    value = value_of(frame.items[place])
    return [before + [value] * (n - frame.n_added) + behind for n in lengths]


def put_frame(ids: list[int], frame: Frame) -> list[int]:
    """Put the ids of a frame for one text into a list of ids, in place."""
    if frame.before:
        ids[:0] = frame.before
    if frame.behind:
        ids += frame.behind
    return ids


def padded_length(lengths: Sequence[int], padding: Mapping[str, Any]) -> int:
    """Return the length to which rows of these lengths, in ids, are padded. Longer rows do not change."""
    length: int = max(lengths) if padding["length"] is None else padding["length"]
    multiple = padding["pad_to_multiple_of"]
    if multiple:
        length += -length % multiple
    return length
