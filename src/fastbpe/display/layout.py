"""Tokens as lines of styled text, for plain text, terminals and rich."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.display.shown_tokens import ShownToken
from fastbpe.display.visible import Part, is_mark, visible

# Backgrounds, which successive tokens take in turn: `painting.BACKGROUNDS`, and .c0 to .c3 of `html.STYLE`.
N_COLOURS = 4


class Details(NamedTuple):
    """Rows to show below the tokens.

    ids, bytes, offsets: bool – show the ids, the bytes in hexadecimal, the positions in characters.
    """

    ids: bool = False
    bytes: bool = False
    offsets: bool = False


class Segment(NamedTuple):
    """Part of a line in one style.

    text: str – the characters, all visible.
    kind: str – kind of the token, "detail" for a row below it, or "gap" for a separator or padding.
    colour: int – background, below N_COLOURS.
    is_sign: bool – whether the text is a sign for an invisible character.
    """

    text: str
    kind: str
    colour: int = 0
    is_sign: bool = False


Line = list[Segment]


def parts_of(token: ShownToken) -> list[Part]:
    """Return the visible text of a token; for an unknown token, the text that it replaces."""
    return visible(token.source.encode() if token.source else token.bytes)


def details_of(token: ShownToken, details: Details) -> list[str]:
    """Return the texts of the rows below a token.

    >>> details_of(ShownToken(97, b"a", 0, 1, "ordinary"), Details(ids=True, offsets=True))
    ['97', '0-1']
    """
    found = []
    if details.ids:
        found.append(str(token.id))
    if details.bytes:
        found.append(token.bytes.hex())
    if details.offsets:
        found.append(f"{token.start}-{token.end}")
    return found


def lines_of(tokens: Sequence[ShownToken], details: Details, *, gap: str, width: int) -> Iterator[Line]:
    """Lay out tokens in lines. A line ends after a token that contains a line feed.

    Without details, the tokens follow each other, and the terminal wraps long lines. With details, each token is a
    separate column, and lines are wrapped at the width.

    gap: text between two tokens; with details, "" means a space. width: in columns of the terminal.
    """
    return _columns(tokens, details, gap, width) if any(details) else _flow(tokens, gap)


def _flow(tokens: Sequence[ShownToken], gap: str) -> Iterator[Line]:
    line: Line = []
    for number, token in enumerate(tokens):
        if line and gap:
            line.append(Segment(gap, "gap"))
        line += _segments(token, number)
        if b"\n" in token.bytes:
            yield line
            line = []
    if line:
        yield line


def _columns(tokens: Sequence[ShownToken], details: Details, gap: str, width: int) -> Iterator[Line]:
    gap = gap or " "
    rows: list[Line] = []
    used = 0
    for number, token in enumerate(tokens):
        segments = _segments(token, number)
        texts = details_of(token, details)
        shown = sum(n_columns(segment.text) for segment in segments)
        size = max(shown, *map(len, texts))
        if rows and used + len(gap) + size > width:
            yield from rows
            rows = []
        if rows:
            for row in rows:
                row.append(Segment(gap, "gap"))
            used += len(gap)
        else:
            rows, used = [[] for _ in range(1 + len(texts))], 0
        rows[0] += [*segments, Segment(" " * (size - shown), "gap")]
        for row, text in zip(rows[1:], texts, strict=True):
            row.append(Segment(text.ljust(size), "detail"))
        used += size
        if b"\n" in token.bytes:
            yield from rows
            rows = []
    yield from rows


def _segments(token: ShownToken, number: int) -> Line:
    return [Segment(part.text, token.kind, number % N_COLOURS, part.is_sign) for part in parts_of(token)]


def n_columns(text: str) -> int:
    """Count the columns that a text takes on a terminal.

    >>> n_columns("aé漢"), n_columns("ที่")
    (4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if is_mark(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text with spaces up to a width in columns. right: align the text on the right.

    >>> padded("漢", 4), padded("漢", 4, right=True)
    ('漢  ', '  漢')
    """
    spaces = " " * (width - n_columns(text))
    return spaces + text if right else text + spaces
