"""Pre-tokenizers of tokenizers, unchanged; fastbpe's own if tokenizers is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from tokenizers.pre_tokenizers import (
        BertPreTokenizer,
        ByteLevel,
        CharDelimiterSplit,
        Digits,
        FixedLength,
        Metaspace,
        PreTokenizer,
        Punctuation,
        Sequence,
        Split,
        UnicodeScripts,
        Whitespace,
        WhitespaceSplit,
    )
else:
    from fastbpe.tokenizers.own.pre_tokenizers import *  # noqa: F403

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]
