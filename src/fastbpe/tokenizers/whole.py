"""Whole tokenizers of a kind: BPE runs on fastbpe, other models on tokenizers itself."""

from __future__ import annotations

import functools
from typing import Any

from tokenizers import implementations as _implementations

from fastbpe.tokenizers.tokenizer import over

BaseTokenizer = _implementations.BaseTokenizer
BertWordPieceTokenizer = _implementations.BertWordPieceTokenizer
SentencePieceUnigramTokenizer = _implementations.SentencePieceUnigramTokenizer

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]


def _face(base: Any) -> Any:
    """Return a subclass whose objects run on fastbpe."""

    @functools.wraps(base.__init__)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        base.__init__(self, *args, **options)
        self._tokenizer = over(self._tokenizer)

    def from_file(vocab_filename: str, merges_filename: str, **options: Any) -> Any:
        made = base.from_file(vocab_filename, merges_filename, **options)
        made.__class__, made._tokenizer = cls, over(made._tokenizer)
        return made

    body = {
        "__doc__": base.__doc__,
        "__init__": __init__,
        "__module__": "fastbpe.tokenizers.implementations",
        "from_file": staticmethod(from_file),
    }
    cls = type(base.__name__, (base,), body)
    return cls


ByteLevelBPETokenizer = _face(_implementations.ByteLevelBPETokenizer)
CharBPETokenizer = _face(_implementations.CharBPETokenizer)
SentencePieceBPETokenizer = _face(_implementations.SentencePieceBPETokenizer)
