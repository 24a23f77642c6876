"""Shortest way for calls without options, where transformers' own Python takes longer than the encoding."""

from __future__ import annotations

from typing import Any

from fastbpe.transformers.columns import put_frame
from fastbpe.transformers.encoding import batch_encoding, set_up_encodings, warn_of_long
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.inputs import are_texts


def encode_plain(hf: Any, engine: Engine, text: Any, *, adds_special: bool = True) -> list[list[int]] | None:
    """Encode a text or a list of texts, without truncation and padding.

    Returns:
        Ids of each text; None if the long way must answer. That is also so if settings of the last call are to be
        taken back first.
    """
    texts = [text] if type(text) is str else text
    original, fields = engine.original, hf.__dict__
    if (
        type(texts) is not list
        or not texts
        or original.truncation is not None
        or original.padding is not None
        or original.encode_special_tokens is not False
        or fields.get("split_special_tokens") is not False
        or not are_texts(texts)
    ):
        return None
    found = engine.plain(add_special_tokens=adds_special)
    if found is None:
        return None
    tokenizer, frame = found
    if len(texts) == 1:
        rows = [tokenizer.encode(texts[0], allowed_special="all")]
    else:
        rows = tokenizer.encode_batch(texts, allowed_special="all")
    if frame.n_added:
        for ids in rows:
            put_frame(ids, frame)
    longest = len(rows[0]) if len(rows) == 1 else max(map(len, rows))
    if longest > hf.model_max_length:
        warn_of_long(hf, rows, None, True)
    return rows


def call_plain(hf: Any, engine: Engine, text: Any) -> Any:
    """Answer `tokenizer(text)` without options: a BatchEncoding; None if the long way must answer."""
    if hf.model_input_names != ["input_ids", "attention_mask"]:
        return None
    rows = encode_plain(hf, engine, text)
    if rows is None:
        return None
    is_single = type(text) is str
    ids: Any = rows[0] if is_single else rows
    mask: Any = [1] * len(ids) if is_single else [[1] * len(one) for one in rows]
    batch = [text] if is_single else [*text]
    made = object.__new__(batch_encoding())
    made.data = {"input_ids": ids, "attention_mask": mask}
    made._encodings = set_up_encodings(engine, batch, None, None, len(rows))
    made._n_sequences = 1
    return made
