"""Models of tokenizers, unchanged; fastbpe's own if tokenizers is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from tokenizers.models import (
        BPE,
        Model,
        Unigram,
        WordLevel,
        WordPiece,
    )
else:
    from fastbpe.tokenizers.own.models import *  # noqa: F403

__all__ = [
    "BPE",
    "Model",
    "Unigram",
    "WordLevel",
    "WordPiece",
]
