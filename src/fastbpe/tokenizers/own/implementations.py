"""Whole tokenizers of a kind: they are the original's."""

from __future__ import annotations

from fastbpe.tokenizers.own.components import Component, absent

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]

BaseTokenizer = absent(Component, "implementations.BaseTokenizer")
BertWordPieceTokenizer = absent(BaseTokenizer, "implementations.BertWordPieceTokenizer")
ByteLevelBPETokenizer = absent(BaseTokenizer, "implementations.ByteLevelBPETokenizer")
CharBPETokenizer = absent(BaseTokenizer, "implementations.CharBPETokenizer")
SentencePieceBPETokenizer = absent(BaseTokenizer, "implementations.SentencePieceBPETokenizer")
SentencePieceUnigramTokenizer = absent(BaseTokenizer, "implementations.SentencePieceUnigramTokenizer")
