"""Models of tokenizers, as they are."""

from __future__ import annotations

from tokenizers.models import (
    BPE,
    Model,
    Unigram,
    WordLevel,
    WordPiece,
)

__all__ = [
    "BPE",
    "Model",
    "Unigram",
    "WordLevel",
    "WordPiece",
]
