"""Fast path for calls without options, for which transformers' Python code would take longer than the encoding."""

from __future__ import annotations

from typing import Any

from fastbpe.huggingface.columns import put_frame
from fastbpe.huggingface.inputs import are_texts
from fastbpe.transformers.encode_plus import batch_encoding, warn_of_long
from fastbpe.transformers.encodings import LazyEncodings
from fastbpe.transformers.engine import Engine

# Tried and dropped: masks that the core makes, of several ints of value 1, so that freeing a mask does not wait
# for one reference count: no certain gain. Ids that the core puts into the frame: no certain gain either.

_NAMES = ["input_ids", "attention_mask"]
_new = object.__new__


def encode_text(hf: Any, engine: Engine, text: str, *, adds_special: bool = True) -> list[int] | None:
    """Encode a text, without truncation and padding.

    Returns:
        The ids; None if the slow path must handle the call, for example to undo settings of the last call.
    """
    if _has_settings(hf, engine.original) or not (text.isascii() or are_texts((text,))):
        return None
    found = engine.plain(add_special_tokens=adds_special)
    if found is None:
        return None
    tokenizer, frame = found
    ids = tokenizer.encode(text, allowed_special="all")
    if frame.n_added:
        put_frame(ids, frame)
    if len(ids) > hf.model_max_length:
        warn_of_long(hf, [ids], None, True)
    return ids


def _encode_texts(hf: Any, engine: Engine, texts: list[Any]) -> list[list[int]] | None:
    """Encode a list of texts, as `encode_text` does."""
    if not texts or _has_settings(hf, engine.original) or not are_texts(texts):
        return None
    found = engine.plain(add_special_tokens=True)
    if found is None:
        return None
    tokenizer, frame = found
    rows = tokenizer.encode_batch(texts, allowed_special="all")
    if frame.n_added:
        for ids in rows:
            put_frame(ids, frame)
    if max(map(len, rows)) > hf.model_max_length:
        warn_of_long(hf, rows, None, True)
    return rows


def _has_settings(hf: Any, original: Any) -> bool:
    return (
        original.truncation is not None
        or original.padding is not None
        or original.encode_special_tokens is not False
        or hf.__dict__.get("split_special_tokens") is not False
    )


def call_plain(hf: Any, engine: Engine, text: Any) -> Any:
    """Handle `tokenizer(text)` without options: return a BatchEncoding, or None for the slow path."""
    if hf.model_input_names != _NAMES:
        return None
    if type(text) is str:
        ids = encode_text(hf, engine, text)
        if ids is None:
            return None
        made = _new(batch_encoding())
        made.data = {"input_ids": ids, "attention_mask": [1] * len(ids)}
        made._encodings = LazyEncodings((engine.twin(), [text]), 1)
    elif type(text) is list:
        rows = _encode_texts(hf, engine, text)
        if rows is None:
            return None
        made = _new(batch_encoding())
        made.data = {"input_ids": rows, "attention_mask": [[1] * len(ids) for ids in rows]}
        made._encodings = LazyEncodings((engine.twin(), [*text]), len(rows))
    else:
        return None
    made._n_sequences = 1
    return made
