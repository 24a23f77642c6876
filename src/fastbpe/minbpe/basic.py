"""minbpe's module `basic`."""

from fastbpe.minbpe.base import get_stats, merge
from fastbpe.minbpe.tokenizers import BasicTokenizer, Tokenizer

__all__ = ["BasicTokenizer", "Tokenizer", "get_stats", "merge"]
