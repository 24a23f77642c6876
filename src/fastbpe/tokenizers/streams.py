"""DecodeStream over the original's: a faster one, for tokenizers of this face and of the original."""

from __future__ import annotations

from typing import Any

from fastbpe.tokenizers.tokenizer import original_of
from fastbpe.transformers import streams


class DecodeStream(streams.DecodeStream):
    """Stream that decodes ids as they come, for tokenizers of this face and of the original.

    Args:
        ids: ids that came before.
        skip_special_tokens: leave special tokens out.
    """

    __slots__ = ()

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """Add an id, or a list of ids, and return the text that it completes; None if it completes none."""
        return super().step(original_of(tokenizer), id)
