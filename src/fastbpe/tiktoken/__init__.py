"""tiktoken's interface (version 0.14.0) over fastbpe: `import fastbpe.tiktoken as tiktoken`.

>>> import fastbpe.tiktoken as tiktoken
>>> tiktoken.encoding_name_for_model("gpt-4o")
'o200k_base'

fastbpe looks for vocabularies where tiktoken does: in the folder that TIKTOKEN_CACHE_DIR or DATA_GYM_CACHE_DIR
names, or, if neither is set, in data-gym-cache in the folder for temporary files. So both libraries share one
cache. fastbpe then looks in FASTBPE_VOCAB_DIR and in the cache of `fastbpe fetch`, and finally downloads the
vocabulary, unless FASTBPE_OFFLINE=1. Packages that register encodings for tiktoken work here too.

Intended differences from tiktoken:

- If several special tokens match at one place, fastbpe takes the longest; tiktoken takes any of them.
- Every method except `encode_single_token` reads a surrogate pair as its character and a lone surrogate as U+FFFD;
  some methods of tiktoken raise UnicodeEncodeError. Texts may also be bytes of UTF-8.
- The constructor refuses a pattern that can match the empty string; tiktoken panics when this match occurs.
- Methods call the overrides of a subclass where tiktoken's do, but only decode_bytes_batch also calls a method
  that is set in one object (`encoding.decode_bytes = …`).
"""

from fastbpe.tiktoken.core import Encoding
from fastbpe.tiktoken.model import encoding_for_model, encoding_name_for_model
from fastbpe.tiktoken.registry import get_encoding, list_encoding_names

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]

__version__ = "0.14.0"  # version of the interface
