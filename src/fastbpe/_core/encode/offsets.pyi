"""Offsets of ids and of pieces in the characters of their text."""

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage
from fastbpe._core.text.special_tokens import SpecialMatcher

def pieces(splitter: Splitter, text: str | bytes) -> list[tuple[int, int]]: ...
def staged_pieces(splitter: Splitter, stages: Stage, text: str | bytes) -> list[tuple[int, int]]:
    """Return (start, end) of each piece after the stages, in characters of the original text."""

def sizes_of_tokens(pipeline: Pipeline, text: str, backward: bool) -> memoryview[int]: ...
def word_ends(
    pipeline: Pipeline, text: str, allowed: SpecialMatcher | None
) -> tuple[list[int], list[tuple[int, str]]]: ...
def traced_piece(pipeline: Pipeline, piece: str) -> list[tuple[int, int, int]]:
    """Return (id, start, end) in bytes of each token of a piece that no step splits. Only for characters."""

def changed_pieces(splitter: Splitter, stages: Stage, text: str, is_first: bool) -> list[tuple[str, list[int]]]:
    """Return (piece, index in the text of the source of each character) for each piece after the stages."""

def piece_texts(pipeline: Pipeline, text: str, tokens: SpecialMatcher | None) -> list[str]: ...
