"""Pieces of a text as normalizers and pre-tokenizers leave them, with their places in the text."""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
