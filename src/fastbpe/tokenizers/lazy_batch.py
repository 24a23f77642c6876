"""Encoding of a batch: only the ids of its rows are computed immediately, each other column at its first use."""

from __future__ import annotations

from fastbpe.huggingface.columns import Layout, lay_out, put_frame
from fastbpe.huggingface.encoding import Encoding
from fastbpe.huggingface.inputs import Inputs
from fastbpe.huggingface.row_columns import RowColumns
from fastbpe.huggingface.rows import HandOver, Plan, encode_rows
from fastbpe.tokenizers.encoded_rows import Row, Setup, offsets_of, pad, pad_to, plan_of, whole, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def encode(setup: Setup, rows: list[Row], *, words: bool, adds_special: bool, fast: bool) -> list[Encoding]:
    """Encode rows as a batch if possible, and pad them. The flags and errors are as for `encoded_rows.whole`."""
    n_pairs = sum(row.second is not None for row in rows)
    plan = None
    if rows and n_pairs in (0, len(rows)):
        plan = plan_of(setup, n_pairs > 0, adds_special, fast)
    if plan is not None:
        try:
            encoded, _ = encode_rows(plan, _inputs(rows), words=words)
            layout = lay_out(encoded, plan.frame, plan.padding)
            batch = Batch(setup, plan, rows, layout, words=words, adds_special=adds_special, fast=fast)
            return [Encoding.of_source(batch, i, layout.ids(i, one.ids)) for i, one in enumerate(encoded)]
        except HandOver:
            pass
    made = [whole(setup, row, words=words, adds_special=adds_special, fast=fast) for row in rows]
    if setup.padding is not None and made:
        pad(made, setup.padding)
    return made


def encode_text(setup: Setup, text: str, *, adds_special: bool) -> Encoding:
    """Encode one text as `encode` does, but faster."""
    plan = plan_of(setup, False, adds_special, False)
    row = Row(text)
    if plan is None or plan.truncation is not None or plan.padding is not None:
        return encode(setup, [row], words=False, adds_special=adds_special, fast=False)[0]
    tokenizer, frame = plan.tokenizer, plan.frame
    ids = tokenizer.encode_ordinary(text) if plan.splits_special else tokenizer.encode(text, allowed_special="all")
    layout = Layout(frame, counts=[(len(ids),)], n_pads=[0], padded=0, padding=None)
    batch = Batch(setup, plan, [row], layout, words=False, adds_special=adds_special, fast=False)
    return Encoding.of_source(batch, 0, put_frame(ids, frame))


class Batch:
    """`Source` of the encodings of a call's rows. The flags are as for `encoded_rows.whole`."""

    def __init__(
        self,
        setup: Setup,
        plan: Plan,
        rows: list[Row],
        layout: Layout,
        words: bool,
        adds_special: bool,
        fast: bool,
    ) -> None:
        self._setup, self._plan, self._rows, self._layout = setup, plan, rows, layout
        self._words, self._adds_special, self._fast = words, adds_special, fast
        self._columns: RowColumns | None = None

    @property
    def may_overflow(self) -> bool:
        """True if truncation is on, so that parts may be cut off."""
        return self._plan.truncation is not None

    @property
    def n_sequences(self) -> int:
        """Number of texts of each row."""
        return 1 if self._rows[0].second is None else 2

    def column(self, encoding: Encoding, name: str, i: int) -> list[Any] | None:
        """Return a column of row i; None: only `whole` can compute it."""
        if self._fast and name in ("tokens", "words", "offsets"):
            return None
        if self._columns is None:
            self._columns = RowColumns(
                self._plan,
                _inputs(self._rows),
                self._layout,
                samples=None,
                of_words=self._words,
                offsets=lambda: offsets_of(self._setup, self._plan),
                words_of=lambda text, ids: words_of(self._setup, text, ids),
                names=self._setup.names,
            )
        return self._columns.column(name, i, encoding.ids)

    def whole(self, i: int) -> Encoding:
        """Return the encoding of row i with all its columns."""
        made = whole(
            self._setup, self._rows[i], words=self._words, adds_special=self._adds_special, fast=self._fast
        )
        if self._plan.padding is not None:
            pad_to(made, self._layout.padded, self._plan.padding)
        return made


def _inputs(rows: list[Row]) -> Inputs:
    seconds = None if rows[0].second is None else [row.second for row in rows]
    return Inputs([row.first for row in rows], seconds, batch=[], is_batched=True)
