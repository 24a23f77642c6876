"""Offsets of ids and of pieces in the characters of their text."""

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.split.splitter import Splitter

def pieces(splitter: Splitter, text: str | bytes) -> list[tuple[int, int]]:
    """Return (start, end) of each piece of a text, in characters; unmatched text is left out."""

def sizes_of_tokens(pipeline: Pipeline, text: str, backward: bool) -> memoryview[int]:
    """Return how many characters of a text lie before its token k, for each k up to their number."""
