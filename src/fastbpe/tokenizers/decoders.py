"""Decoders of tokenizers as they are, and a faster DecodeStream."""

from __future__ import annotations

from typing import Any

from tokenizers.decoders import (
    CTC,
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    Decoder,
    Fuse,
    Metaspace,
    Replace,
    Sequence,
    Strip,
    WordPiece,
)

from fastbpe.tokenizers.tokenizer import original_of
from fastbpe.transformers import streams

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


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
