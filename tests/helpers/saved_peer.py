"""Texts of ids as a saved tokenizer of transformers decodes them."""

from __future__ import annotations

from typing import Any

import tokenizers

from fastbpe.transformers.snapshot import has_old_forms


def decode(tokenizer: Any, ids: list[int], skip: bool) -> str:
    """Return the text of ids.

    tokenizers decodes a token that was added again with normalized=False to its normalized text, but no file
    contains this fact: a copy decodes such tokens.
    """
    backend = tokenizer.backend_tokenizer
    if has_old_forms(backend):
        text = tokenizers.Tokenizer.from_str(backend.to_str()).decode(ids, skip_special_tokens=skip)
    else:
        text = tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
    return cleaned_up(tokenizer, text)


def cleaned_up(tokenizer: Any, text: str) -> str:
    """Return a decoded text as the tokenizer returns it by default: of BPE models, it cleans up no text."""
    cleans = tokenizer.clean_up_tokenization_spaces and type(tokenizer.backend_tokenizer.model).__name__ != "BPE"
    return str(tokenizer.clean_up_tokenization(text) if cleans else text)
