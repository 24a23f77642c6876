"""DecodeStream: a replacement for `tokenizers.decoders.DecodeStream` that looks most texts up in a table."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastbpe.huggingface import id_stream
from fastbpe.huggingface.id_stream import Changed, Texts, is_byte_token, text_after
from fastbpe.transformers._original import tokenizers
from fastbpe.transformers.engine import Engine, engine_for
from fastbpe.transformers.panics import BackendPanic, as_errors

STOCK: Any = tokenizers.decoders.DecodeStream


class DecodeStream(id_stream.DecodeStream):
    """Stream that decodes ids as they arrive, with the arguments and results of tokenizers' class.

    Args:
        ids: ids that came before.
        skip_special_tokens: leave special tokens out.
    """

    __slots__ = ()
    slow = STOCK

    @staticmethod
    def texts_of(tokenizer: Any, *, skips: bool) -> Texts | None:
        """Return the texts of a tokenizer's ids; None: the slow stream must decode all ids."""
        engine = engine_for(tokenizer)
        if engine is None or engine.ready() is None or not engine.decodes:
            return None
        known = engine.texts[skips]
        return Texts(engine.n_changes, known, partial(_find, engine, known, skips))


def _find(engine: Engine, known: dict[int, str | None], skips: bool, before: list[int], id: int) -> str | None:
    """Find the text that an id adds after other ids."""
    native = engine.ready()
    if native is None or engine.texts[skips] is not known:
        raise Changed  # the tokenizer has changed since: the texts begin again
    original = engine.original
    token = original.id_to_token(id) if 0 <= id < 1 << 32 else None
    if token is None or (native.mode != "byte" and is_byte_token(token)):
        return None
    try:
        with as_errors():
            return text_after(lambda ids: original.decode(ids, skip_special_tokens=skips), before, id)
    except BackendPanic:
        return None
