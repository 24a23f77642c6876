r"""minbpe's three tokenizers over fastbpe: `import fastbpe.minbpe as minbpe`.

Merges and ids are the same, and files are equal byte for byte. `train` breaks ties as minbpe does (ties="first").
`encode` merges every piece, even one that is a token.

>>> tokenizer = BasicTokenizer()
>>> tokenizer.train("aaabdaaabac", 256 + 3, verbose=True)
merge 1/3: (97, 97) -> 256 (b'aa') had 4 occurrences
merge 2/3: (256, 97) -> 257 (b'aaa') had 2 occurrences
merge 3/3: (257, 98) -> 258 (b'aaab') had 2 occurrences
>>> tokenizer.encode("aaabdaaabac")
[258, 100, 258, 97, 99]
>>> tokenizer.decode([258, 100])
'aaabd'
"""

from fastbpe.minbpe.tokenizers import (
    GPT2_SPLIT_PATTERN,
    GPT4_SPECIAL_TOKENS,
    BasicTokenizer,
    GPT4Tokenizer,
    RegexTokenizer,
    Tokenizer,
)
from fastbpe.patterns import GPT4_SPLIT_PATTERN

__all__ = [
    "GPT2_SPLIT_PATTERN",
    "GPT4_SPECIAL_TOKENS",
    "GPT4_SPLIT_PATTERN",
    "BasicTokenizer",
    "GPT4Tokenizer",
    "RegexTokenizer",
    "Tokenizer",
]
