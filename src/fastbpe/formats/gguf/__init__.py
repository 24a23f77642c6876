"""Tokenizers in GGUF files, the format of llama.cpp: the keys `tokenizer.ggml.*` of the metadata.

`metadata` reads and writes the metadata of a file, never its tensors. `pre_tokenizers` maps the names of split
patterns in such files to the patterns. `read` and `write` turn the keys into a model and back: a byte-level one
("gpt2"), or a code-point model of sentencepiece ("llama").
"""

from fastbpe.formats.gguf.metadata import recognise
from fastbpe.formats.gguf.read_metadata import parse

__all__ = ["parse", "recognise"]
