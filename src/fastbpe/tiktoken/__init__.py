"""tiktoken's interface, as of its version 0.14.0, over fastbpe: `import fastbpe.tiktoken as tiktoken`.

>>> import fastbpe.tiktoken as tiktoken
>>> tiktoken.encoding_name_for_model("gpt-4o")
'o200k_base'

Vocabularies are found where tiktoken finds them: in the folder that TIKTOKEN_CACHE_DIR or DATA_GYM_CACHE_DIR
names, else in data-gym-cache in the folder for temporary files, else where they are published. So the two share
one cache. FASTBPE_OFFLINE=1 forbids the last. Packages that register encodings for tiktoken work here too.

What is not tiktoken's, on purpose: of special tokens that begin alike the longest is found, where tiktoken finds
any of them; a pair of surrogates is its character and a lone one U+FFFD in every method, where some of tiktoken's
raise UnicodeEncodeError; a pattern that can match nothing is refused at once, where tiktoken panics when it does;
and a method that a subclass overrides is not what the other methods go through.
"""

from fastbpe.tiktoken.core import Encoding
from fastbpe.tiktoken.model import encoding_for_model, encoding_name_for_model
from fastbpe.tiktoken.registry import get_encoding, list_encoding_names

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]

__version__ = "0.14.0"  # of the interface
