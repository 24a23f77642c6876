"""Engines for the `engine` fixture: the slow twin, and the core on each instruction set.

The core chooses its instruction set when it is imported, by FASTBPE_SIMD or else the best of the
machine. `forced()` chooses another one in this process, so that a test needs no process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from fastbpe import Tokenizer
from fastbpe._core.merge import merge_batch
from fastbpe._core.split.scanner import Scanner, paths
from fastbpe._core.text import special_tokens, utf8_text
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import make_splitter
from fastbpe.splitting.syntax import parse
from helpers.text_strategies import as_utf8
from reference import merge_ranks
from reference import split as reference_split

TWIN = "twin"
NAMES = (TWIN, "scalar", "avx2", "avx512", "avx512vbmi2", "neon")
#: Modules that choose their functions at import. A Scanner chooses when it is made.
MODULES = (merge_batch, utf8_text, special_tokens)


@contextmanager
def forced(path: str) -> Iterator[None]:
    """Run the body on one instruction set. Tokenizers for it must be made inside: a splitter keeps its own."""
    try:
        with mock.patch.dict(os.environ, FASTBPE_SIMD=path):
            for module in MODULES:
                module.use_path(path)
            yield
    finally:
        for module in MODULES:
            module.use_path(os.environ.get("FASTBPE_SIMD", ""))


class Engine:
    """The core, on the instruction set that `forced()` has chosen."""

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, ranks: dict[bytes, int], pattern: str, texts: list[str]) -> list[list[int]]:
        """Encode each text with a tokenizer that has seen nothing, so that every piece is merged."""
        return [
            Tokenizer.from_ranks(ranks, pattern=pattern, cache_bytes=0).encode_ordinary(text) for text in texts
        ]

    def to_utf8(self, text: str) -> bytes:
        return utf8_text.to_utf8(text)

    def find_all(self, tokens: list[bytes], ids: list[int], text: bytes) -> list[tuple[int, int, int]]:
        """(start, end, id) of each special token in the text, the longest at each position."""
        matcher = special_tokens.SpecialMatcher(tokens, ids)
        found = matcher.find_all(text)
        assert matcher.search(text) == (found[0] if found else None)
        return found

    def split(self, pattern: str, text: str) -> list[bytes]:
        splitter = make_splitter(PATTERNS.get(pattern, pattern))
        assert isinstance(splitter, Scanner)
        assert splitter.path == self.name
        data = text.encode()
        return [data[start:end] for start, end in splitter.pieces(text)]


class Twin(Engine):
    """The specification in plain Python, with the methods of Engine."""

    def encode(self, ranks: dict[bytes, int], pattern: str, texts: list[str]) -> list[list[int]]:
        return [[i for piece in self.split(pattern, text) for i in merge_ranks(ranks, piece)] for text in texts]

    def to_utf8(self, text: str) -> bytes:
        return as_utf8(text)

    def find_all(self, tokens: list[bytes], ids: list[int], text: bytes) -> list[tuple[int, int, int]]:
        found, at = [], 0
        while at < len(text):
            here = max((token for token in tokens if text.startswith(token, at)), key=len, default=None)
            if here is not None:
                found.append((at, at + len(here), ids[tokens.index(here)]))
            at += len(here or b"x")
        return found

    def split(self, pattern: str, text: str) -> list[bytes]:
        known = PATTERNS.get(pattern, pattern)
        assert isinstance(known, str)
        return [piece.encode() for piece in reference_split(text, parse(known))]


@contextmanager
def engine_named(name: str) -> Iterator[Engine | None]:
    """Yield the engine of one of NAMES; None where the machine lacks the instructions."""
    if name == TWIN:
        yield Twin(name)
    elif name in paths():
        with forced(name):
            yield Engine(name)
    else:
        yield None
