"""Pieces of a text as pre-tokenizers make them, one step after another, with their places in the text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fastbpe._core.encode.offsets import changed_pieces, pieces
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage
from fastbpe.splitting.changing_steps import make_stages
from fastbpe.splitting.empty_matches import split_spans
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.steps import Split, step_of
from fastbpe.splitting.to_regex import EmptyMatchError, compile_regex
from fastbpe.tokenizers.own import components

Span = tuple[int, int]


class Piece(NamedTuple):
    """Part of a text as the steps so far have left it.

    text: the part.
    spans: start and end, in the whole text, of the character that each of its characters comes from.
    """

    text: str
    spans: list[Span]

    def part(self, start: int, end: int) -> Piece:
        """Return a part of the piece."""
        return Piece(self.text[start:end], self.spans[start:end])


def split_piece(piece: Piece, step: Mapping[str, Any], *, is_first: bool = False) -> list[Piece]:
    """Split a piece by a step as a tokenizer.json describes it.

    is_first: the piece begins where the whole text does.

    Raises PatternError for a pattern that fastbpe does not run.
    """
    splitter, stages = _made(components.compact(step))
    if stages is None:
        return [piece.part(*span) for span in pieces(splitter, piece.text)]
    made = changed_pieces(splitter, stages, piece.text, is_first)
    return [Piece(text, [piece.spans[place] for place in places]) for text, places in made]


@lru_cache(maxsize=64)
def _made(described: bytes) -> tuple[Splitter, Stage | None]:
    splitter, stages, _ = make_stages([json.loads(described)])
    return splitter, stages


def spans_with_empty(text: str, step: Mapping[str, Any]) -> list[Span] | None:
    """Return the parts that a Split makes of a text, empty ones too; None: its regex never matches the empty text.

    Raises PatternError for a pattern that fastbpe does not run.
    """
    split = step_of(step)
    assert isinstance(split, Split)
    if split.literal:
        return None
    regex = from_oniguruma(split.pattern)
    try:
        compile_regex(regex)
    except EmptyMatchError:
        return split_spans(compile_regex(regex, may_be_empty=True), text, split.behavior, split.invert)
    return None


def places_of(text: str) -> Sequence[int]:
    """Return the index of the character of each byte of a text."""
    if text.isascii():
        return range(len(text))
    return [i for i, character in enumerate(text) for _ in character.encode()]


def characters_of(places: Sequence[int], start: int, end: int) -> Span:
    """Return the span in characters of a span in bytes that may go beyond the text, as tokenizers counts it.

    places: what `places_of` returns for the text.
    """
    if start >= len(places):
        return start, end
    if end < len(places):
        return places[start], places[end]
    return places[start], (places[end - 1] if end - 1 < len(places) else places[start] + 1) + 1
