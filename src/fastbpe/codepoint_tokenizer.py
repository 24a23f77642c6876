"""Names that pickles of earlier versions look for here."""

from fastbpe.tokenizer.codepoint import CodePointTokenizer
from fastbpe.tokenizer.codepoint import unpickle_codepoint as _unpickle

__all__ = ["CodePointTokenizer", "_unpickle"]
