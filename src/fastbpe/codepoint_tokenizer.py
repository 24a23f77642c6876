"""Names that pickles made before 0.1.0 was released look for here."""

from fastbpe.tokenizer.codepoint import CodePointTokenizer, _unpickle

__all__ = ["CodePointTokenizer", "_unpickle"]
