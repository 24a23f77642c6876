"""Pieces of a text after normalizers and pre-tokenizers, with their positions in the text."""

from __future__ import annotations

from collections.abc import Sequence

from fastbpe._utils.named_tuples import NamedTuple

Span = tuple[int, int]


class Piece(NamedTuple):
    """Part of a text, as the normalizers and pre-tokenizers so far have changed it.

    text: the part.
    spans: for each of its characters, start and end of its origin in the whole text.
    """

    text: str
    spans: list[Span]

    def part(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end], self.spans[start:end])


def places_of(text: str) -> Sequence[int]:
    """Return, for each byte of a text, the index of its character."""
    if text.isascii():
        return range(len(text))
    return [i for i, character in enumerate(text) for _ in character.encode()]


def characters_of(places: Sequence[int], start: int, end: int) -> Span:
    """Convert a span in bytes into a span in characters.

    As in tokenizers, a span that starts at the end of the text, or beyond it, stays as it is. A span that ends
    beyond the text gets an end two characters after its start.

    places: what `places_of` returns for the text.
    """
    if start >= len(places):
        return start, end
    if end < len(places):
        return places[start], places[end]
    return places[start], (places[end - 1] if end - 1 < len(places) else places[start] + 1) + 1
