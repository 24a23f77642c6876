"""minbpe's module `regex`."""

from fastbpe.minbpe.base import get_stats, merge
from fastbpe.minbpe.tokenizers import GPT2_SPLIT_PATTERN, RegexTokenizer, Tokenizer
from fastbpe.patterns import GPT4_SPLIT_PATTERN

__all__ = ["GPT2_SPLIT_PATTERN", "GPT4_SPLIT_PATTERN", "RegexTokenizer", "Tokenizer", "get_stats", "merge"]
