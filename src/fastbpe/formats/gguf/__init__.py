"""Tokenizers in GGUF files, the format of llama.cpp: the keys `tokenizer.ggml.*` of the metadata.

`metadata` reads and writes the metadata of a file, never its tensors. `split_patterns` maps the names of split
patterns in such files to the patterns. `read_metadata` and `write_metadata` turn the keys into a model and back: a
byte-level one ("gpt2"), or a code-point model of sentencepiece ("llama", "t5"). `characters` ("gemma4") and
`wordpiece` ("bert") have the other kinds.
"""

from fastbpe.formats.gguf.metadata import recognise
from fastbpe.formats.gguf.read_metadata import parse

__all__ = ["parse", "recognise"]
