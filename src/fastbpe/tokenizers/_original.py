"""The original module: parts of tokenizers come from it as they are, and it answers what fastbpe does not."""

from __future__ import annotations

try:
    import tokenizers as original
except ImportError:
    raise ImportError("fastbpe.tokenizers needs the original, too: pip install 'tokenizers>=0.23,<0.24'") from None

from tokenizers import (
    AddedToken,
    EncodeInput,
    InputSequence,
    NormalizedString,
    OffsetReferential,
    Offsets,
    OffsetType,
    PreTokenizedEncodeInput,
    PreTokenizedInputSequence,
    PreTokenizedString,
    Regex,
    SplitDelimiterBehavior,
    TextEncodeInput,
    TextInputSequence,
    Token,
    __version__,
)

__all__ = [
    "AddedToken",
    "EncodeInput",
    "InputSequence",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "__version__",
    "original",
]
