"""Types of arguments: literals for strings with few allowed values, and keyword types that overloads share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias, TypedDict

Mode: TypeAlias = Literal["byte", "codepoint", "unigram", "ids"]
TextMode: TypeAlias = Literal["byte", "codepoint", "unigram"]
Ties: TypeAlias = Literal["pair", "huggingface", "first"]
BaseSpecial: TypeAlias = Literal["keep", "end"]
OnError: TypeAlias = Literal["raise", "skip"]
#: For bytes of a source that are not UTF-8.
ReadErrors: TypeAlias = Literal["strict", "replace"]
#: For bytes of ids that are not UTF-8: Python's handlers for decoding. Those that a program registers work, too.
DecodeErrors: TypeAlias = Literal[
    "strict", "replace", "ignore", "backslashreplace", "surrogateescape", "surrogatepass"
]
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
Special: TypeAlias = str | Collection[str]  # "all" or a set of special tokens


class SpecialOptions(TypedDict, total=False):
    """Special tokens in texts: see `Tokenizer.encode`."""

    allowed_special: Special
    disallowed_special: Special


class EncodeOptions(SpecialOptions, total=False):
    """Keywords of `Tokenizer.encode`."""

    num_threads: int | None
    dropout: float | None
    seed: int | None
    with_template: bool


class SpanOptions(SpecialOptions, total=False):
    """Keywords of `Tokenizer.encode_with_offsets`."""

    unit: Unit


class ChunkOptions(SpecialOptions, total=False):
    """Keywords of `Tokenizer.chunk`."""

    boundary: Boundary
    overlap: int


class CutOptions(SpecialOptions, total=False):
    """Keywords of `Tokenizer.truncate`."""

    boundary: Boundary
    side: Side
