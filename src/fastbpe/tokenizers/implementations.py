"""Whole tokenizers of a kind: BPE ones run on fastbpe, the others are tokenizers' own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from fastbpe.tokenizers.whole import (
        BaseTokenizer,
        BertWordPieceTokenizer,
        ByteLevelBPETokenizer,
        CharBPETokenizer,
        SentencePieceBPETokenizer,
        SentencePieceUnigramTokenizer,
    )
else:
    from fastbpe.tokenizers.own.implementations import *  # noqa: F403

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]
