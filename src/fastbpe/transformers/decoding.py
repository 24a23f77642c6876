"""Handling of calls of transformers' `_decode`."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastbpe.errors import FastbpeError
from fastbpe.huggingface.rows import HandOver
from fastbpe.transformers.engine import Engine

#: Errors for ids that fastbpe cannot decode. The original tokenizer then answers, or raises its own error.
_NOT_TEXT = (FastbpeError, TypeError, ValueError, OverflowError, KeyError)


def decode(hf: Any, engine: Engine, token_ids: Any, options: dict[str, Any]) -> str:
    """Handle a call of `_decode`. Raises HandOver if the original must handle it, or raise an error."""
    if isinstance(token_ids, int):
        token_ids = [token_ids]
    if not isinstance(token_ids, (list, tuple)):
        raise HandOver("ids that are not a list")
    return decode_batch(hf, engine, [token_ids], options)[0]


def decode_batch(hf: Any, engine: Engine, batch: list[Any], options: dict[str, Any]) -> list[str]:
    """Handle a call with a batch of lists of ids; arguments and errors are otherwise as in `decode`."""
    skips = options.get("skip_special_tokens", False)
    if type(skips) is not bool:  # tokenizers refuses it
        raise HandOver("an argument of the wrong type")
    texts = _texts(engine, batch, skips)
    asked = options.get("clean_up_tokenization_spaces")
    if asked is None:
        asked = hf.clean_up_tokenization_spaces
    if not asked:
        return texts
    is_bpe = type(hf.backend_tokenizer.model).__name__ == "BPE"
    if is_bpe and not hf.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output:
        _warn_of_clean_up(hf)
        return texts
    return [hf.clean_up_tokenization(text) for text in texts]


def _texts(engine: Engine, batch: list[Any], skips: bool) -> list[str]:
    """Decode lists of ids. skips: leave out special tokens."""
    if "decode" in getattr(engine.original, "__dict__", ()):
        raise HandOver("a backend whose method decode was replaced, as CLIPTokenizer does")
    tokenizer = engine.ready()
    if tokenizer is None or not engine.decodes:
        raise HandOver(
            engine.reason
            or "a decoder that does not join bytes, or an added token that was added again with normalized=False"
        )
    try:
        if len(batch) == 1:
            return [tokenizer.decode(batch[0], skip_special_tokens=skips)]
        return tokenizer.decode_batch(batch, skip_special_tokens=skips)
    except _NOT_TEXT:
        raise HandOver("ids without a token, or items that are not ids") from None


def _warn_of_clean_up(hf: Any) -> None:
    """Let transformers warn, once per process, that decoding does not clean up spaces."""
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    stand_in = _class_named(type(hf).__name__)()
    stand_in.backend_tokenizer = hf.backend_tokenizer
    TokenizersBackend._decode(stand_in, [], clean_up_tokenization_spaces=True)


class _NoText:
    """Backend that decodes to nothing; a real one may panic without tokens."""

    @staticmethod
    def decode(ids: list[int], *, skip_special_tokens: bool) -> str:
        return ""


@cache
def _class_named(name: str) -> type[Any]:
    """Return a class with this name, which the warning shows, and the attributes that `_decode` reads."""
    settings = {"clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": False}
    return type(name, (), {"_tokenizer": _NoText, **settings})
