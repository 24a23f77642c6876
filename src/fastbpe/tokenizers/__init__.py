"""Face of tokenizers 0.23: `import fastbpe.tokenizers as tokenizers`. fastbpe answers BPE; tokenizers the rest."""

from fastbpe.tokenizers import _original as _original  # before the others: its error says what to install
from fastbpe.tokenizers import decoders, implementations, models, normalizers, pre_tokenizers, processors, trainers
from fastbpe.tokenizers._original import (
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
from fastbpe.tokenizers.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from fastbpe.tokenizers.tokenizer import Tokenizer

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
