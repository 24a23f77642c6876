"""DecodeStream: a replacement for `tokenizers.decoders.DecodeStream` that looks most texts up in a table."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastbpe.huggingface import id_stream
from fastbpe.huggingface.id_stream import Texts, text_within
from fastbpe.transformers._original import tokenizers
from fastbpe.transformers.engine import engine_for
from fastbpe.transformers.watching import EPOCH

STOCK: Any = tokenizers.decoders.DecodeStream


class DecodeStream(id_stream.DecodeStream):
    """Stream that decodes ids as they arrive, with the arguments and results of tokenizers' class.

    Args:
        ids: ids that come before the first step.
        skip_special_tokens: leave special tokens out.
    """

    __slots__ = ()
    slow = STOCK

    @staticmethod
    def texts_of(tokenizer: Any, *, skips: bool) -> Texts | None:
        engine, seen = engine_for(tokenizer), EPOCH[0]
        native = None if engine is None else engine.ready()
        if engine is None or native is None or not engine.decodes:
            return None
        return Texts(EPOCH, seen, engine.texts[skips], partial(text_within, native, skips=skips))
