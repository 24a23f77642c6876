"""Types of arguments that take one of a few strings: a type checker refuses the others."""

from __future__ import annotations

from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["byte", "codepoint", "unigram", "ids"]
TextMode: TypeAlias = Literal["byte", "codepoint", "unigram"]
Ties: TypeAlias = Literal["pair", "huggingface", "first"]
BaseSpecial: TypeAlias = Literal["keep", "end"]
OnError: TypeAlias = Literal["raise", "skip"]
#: For bytes of a source that are not UTF-8.
ReadErrors: TypeAlias = Literal["strict", "replace"]
#: For bytes of ids that are not UTF-8: error handlers of Python.
DecodeErrors: TypeAlias = Literal["strict", "replace", "ignore", "backslashreplace", "surrogateescape"]
UnknownIds: TypeAlias = Literal["raise", "skip", "replace"]
Side: TypeAlias = Literal["right", "left"]
Boundary: TypeAlias = Literal["token", "word", "sentence", "line"]
Unit: TypeAlias = Literal["char", "byte", "utf16"]
#: Type of an id in files that `encode_files` writes.
IdType: TypeAlias = Literal["uint16", "uint32"]
#: Type of an id in files and columns that other programs wrote or read.
AnyIdType: TypeAlias = Literal["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
#: Header in front of the ids of a .bin file.
Header: TypeAlias = Literal["llm.c"]
#: Format of files of documents.
DocumentFormat: TypeAlias = Literal["text", "jsonl", "parquet", "arrow"]
Format: TypeAlias = Literal[
    "native", "tiktoken", "huggingface", "gpt2", "sentencepiece", "minbpe", "tekken", "gguf", "boundless"
]
