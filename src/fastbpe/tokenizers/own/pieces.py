"""Pieces of a text as pre-tokenizers make them, one step after another, with their places in the text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from fastbpe._core.encode.offsets import pieces
from fastbpe._core.split.splitter import Splitter
from fastbpe.formats.byte_level import text_of
from fastbpe.splitting.empty_matches import split_spans
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.steps import Split, make_sequence, step_of
from fastbpe.splitting.to_regex import EmptyMatchError, compile_regex
from fastbpe.tokenizers.own import components

Span = tuple[int, int]


class Piece(NamedTuple):
    """Part of a text as the steps so far have left it.

    text: the part.
    spans: start and end, in the whole text, of the character that each of its characters comes from.
    start: start of the part in the whole text; None: where its first character comes from. They differ where a
        normalizer has removed characters.
    """

    text: str
    spans: list[Span]
    start: int | None = None

    @property
    def span(self) -> Span:
        """Start and end in the whole text."""
        return (self.spans[0][0], self.spans[-1][1]) if self.spans else (0, 0)

    def part(self, start: int, end: int) -> Piece:
        """Return a part of the piece."""
        return Piece(self.text[start:end], self.spans[start:end])

    def behind(self, character: str) -> Piece:
        """Return the piece after a character, which has the place of the first one."""
        return Piece(character + self.text, [self.spans[0], *self.spans], self.start)


def split_piece(piece: Piece, steps: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """Split a piece by steps as a tokenizer.json describes them.

    Raises PatternError for a pattern that fastbpe does not run.
    """
    made = [piece]
    for step in steps:
        made = [part for piece in made for part in _apply(piece, step) if part.text]
    return made


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


def _apply(piece: Piece, step: Mapping[str, Any]) -> list[Piece]:
    if step["type"] == "Metaspace":
        return _metaspace(piece, step)
    if step["type"] != "ByteLevel":
        return [piece.part(*span) for span in pieces(_splitter(components.compact(step)), piece.text)]
    if step["add_prefix_space"] and not piece.text.startswith(" "):
        piece = piece.behind(" ")
    if not step["use_regex"]:
        return [_shown(piece)]
    spans = pieces(_splitter(components.compact(step)), piece.text)
    return [_shown(piece.part(*span)) for span in spans]


@lru_cache(maxsize=64)
def _splitter(described: bytes) -> Splitter:
    return make_sequence([step_of(json.loads(described))])


def _shown(piece: Piece) -> Piece:
    """Return the piece in GPT-2's characters for bytes."""
    shown = [text_of(character.encode()) for character in piece.text]
    spans = [span for one, span in zip(shown, piece.spans, strict=True) for _ in one]
    return Piece("".join(shown), spans, piece.start)


def _metaspace(piece: Piece, step: Mapping[str, Any]) -> list[Piece]:
    mark, scheme = step["replacement"], step["prepend_scheme"]
    is_first = (piece.span[0] if piece.start is None else piece.start) == 0
    piece = Piece(piece.text.replace(" ", mark), piece.spans, piece.start)
    if not piece.text.startswith(mark) and (scheme == "always" or (scheme == "first" and is_first)):
        piece = piece.behind(mark)
    if not step["split"]:
        return [piece]
    starts = [i for i, character in enumerate(piece.text) if character == mark or not i]
    return [piece.part(start, end) for start, end in pairwise([*starts, len(piece.text)])]


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
