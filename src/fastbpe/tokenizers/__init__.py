"""Drop-in for tokenizers 0.23: `import fastbpe.tokenizers as tokenizers`.

fastbpe does the work for BPE models, and the package tokenizers does the rest. If tokenizers is not installed, all
classes are fastbpe's own (`fastbpe.tokenizers.own`); parts that only tokenizers has raise an ImportError that says
so.
"""

from typing import TYPE_CHECKING

from fastbpe.tokenizers import decoders, implementations, models, normalizers, pre_tokenizers, processors, trainers
from fastbpe.tokenizers._original import IS_INSTALLED
from fastbpe.tokenizers._original import original as _original
from fastbpe.tokenizers.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)

if TYPE_CHECKING or IS_INSTALLED:
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
    )

    from fastbpe.tokenizers.encoding import Encoding
    from fastbpe.tokenizers.tokenizer import Tokenizer
else:
    from fastbpe.tokenizers.own import *  # noqa: F403

__version__: str = _original.__version__

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]
