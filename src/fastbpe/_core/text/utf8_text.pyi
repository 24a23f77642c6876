"""Text as UTF-8, by one rule for every entry point."""

from collections.abc import Iterable
from typing import overload

def to_utf8(text: str | bytes | bytearray | memoryview) -> bytes:
    """Return the UTF-8 of a text: surrogate pairs as their character, lone surrogates as U+FFFD."""

def utf8_size(texts: Iterable[str | bytes]) -> int:
    """Count the bytes that `to_utf8` gives for all texts together, without making them."""

@overload
def plain(text: str) -> str: ...
@overload
def plain(text: bytes) -> bytes: ...
def n_valid(data: bytes) -> int:
    """Count the bytes of valid UTF-8 before the first byte that is invalid or begins a truncated character."""

def has_surrogates(text: str) -> bool:
    """Return True if a str holds surrogates, in pairs or alone, which UTF-8 cannot express."""

def use_path(path: str) -> None:
    """Use the kernels of an instruction set from now on, as FASTBPE_SIMD does at import. For tests."""
