"""Batch: texts that fastbpe has encoded; what is not needed for the ids comes when it is asked for."""

from __future__ import annotations

from typing import Any

from fastbpe.transformers.columns import Encoded, Layout, Span, lay_out
from fastbpe.transformers.encodings import Call, LazyEncodings
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.inputs import Inputs
from fastbpe.transformers.rows import HandOver, Plan, encode_rows, make_plan


class Batch:
    """Rows of a call of `encode_batch`.

    Args:
        engine: engine of the tokenizer.
        inputs: the texts.
        words: each row is a list of words.
        add_special_tokens: as in the call.
        method: name of the method of the original that gives the same: encode_batch or encode_batch_fast.

    Attributes:
        ids: ids of each row, in its frame and padded.
        layout: origin of each id.
        n_sequences: number of texts of each row.
        may_overflow: texts are truncated.

    Raises:
        HandOver: the original must answer, or raise.
    """

    def __init__(
        self, engine: Engine, inputs: Inputs, *, words: bool, add_special_tokens: bool, method: str
    ) -> None:
        plan = make_plan(
            engine,
            pair=inputs.seconds is not None,
            add_special_tokens=add_special_tokens,
            fast=method == "encode_batch_fast",
        )
        rows, _ = encode_rows(engine, plan, inputs, words=words)
        layout = lay_out(rows, plan.frame, plan.padding)
        self.layout: Layout = layout
        self._made: LazyEncodings | None = None
        self._call = engine.twin(), inputs, plan, words, add_special_tokens, method
        self.n_sequences = 1 if inputs.seconds is None else 2
        self.may_overflow = plan.truncation is not None
        self.ids = [layout.ids(i, row.ids) for i, row in enumerate(rows)]
        self._again: tuple[Engine, Plan, Inputs, bool] | None = None
        if method == "encode_batch":
            self._again = engine, plan, inputs, words
        self._rows: list[Encoded] | None = None

    def original(self, i: int) -> Any:
        """Return the encoding of tokenizers for row i. The first call makes the encodings of all rows."""
        if self._made is None:
            twin, inputs, plan, words, adds_special, method = self._call
            options = {"add_special_tokens": adds_special, "is_pretokenized": words}
            settings = plan.settings, plan.padding, plan.splits_special
            self._made = LazyEncodings(Call(twin, inputs.batch, options, *settings, False, method), len(self.ids))
        return self._made[i]

    def offsets(self, i: int) -> list[Span] | None:
        """Return the offsets of row i; None if the original must tell them.

        The first call encodes the texts again, if the tokenizer is the same as before.
        """
        rows, again = self._rows, self._again
        if rows is None and again is not None:
            engine, plan, inputs, words = again
            self._again = None
            try:
                if engine.with_offsets() is plan.tokenizer:
                    rows, _ = encode_rows(engine, plan, inputs, words=words, offsets=True)
                    self._rows = rows
            except HandOver:
                pass
        return None if rows is None else self.layout.spans(i, rows[i].spans or ())
