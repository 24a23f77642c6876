"""tokenizers' interface for BPE without tokenizers: plain objects, which fastbpe reads like a tokenizer.json."""

from fastbpe.tokenizers.own import decoders as decoders
from fastbpe.tokenizers.own import implementations as implementations
from fastbpe.tokenizers.own import models as models
from fastbpe.tokenizers.own import normalizers as normalizers
from fastbpe.tokenizers.own import pre_tokenizers as pre_tokenizers
from fastbpe.tokenizers.own import processors as processors
from fastbpe.tokenizers.own import trainers as trainers
from fastbpe.tokenizers.own.added_token import AddedToken
from fastbpe.tokenizers.own.components import Regex
from fastbpe.tokenizers.own.encoding import Encoding
from fastbpe.tokenizers.own.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from fastbpe.tokenizers.own.inputs import (
    EncodeInput,
    InputSequence,
    OffsetReferential,
    Offsets,
    OffsetType,
    PreTokenizedEncodeInput,
    PreTokenizedInputSequence,
    SplitDelimiterBehavior,
    TextEncodeInput,
    TextInputSequence,
)
from fastbpe.tokenizers.own.normalized_string import NormalizedString
from fastbpe.tokenizers.own.pre_tokenized_string import PreTokenizedString
from fastbpe.tokenizers.own.token import Token
from fastbpe.tokenizers.own.tokenizer import Tokenizer

#: Version of tokenizers whose interface it is.
__version__ = "0.23.3"

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
]
