"""Old home of `CodePointTokenizer`, for pickles of earlier versions."""

from fastbpe.tokenizer.codepoint import CodePointTokenizer
from fastbpe.tokenizer.codepoint import unpickle_codepoint as _unpickle

__all__ = ["CodePointTokenizer", "_unpickle"]
