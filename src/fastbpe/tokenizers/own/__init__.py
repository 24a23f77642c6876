"""tokenizers' interface for BPE without tokenizers: plain objects, which fastbpe reads as it reads a tokenizer.json."""

from fastbpe.tokenizers.own import decoders, models, normalizers, pre_tokenizers, processors
from fastbpe.tokenizers.own.added_token import AddedToken
from fastbpe.tokenizers.own.components import Regex
from fastbpe.tokenizers.own.encoding import Encoding
from fastbpe.tokenizers.own.tokenizer import Tokenizer

__all__ = [
    "AddedToken",
    "Encoding",
    "Regex",
    "Tokenizer",
    "decoders",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
]
