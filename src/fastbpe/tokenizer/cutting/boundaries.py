"""Boundaries of lines, sentences and words, at which texts are cut for readers.

`docs/cutting-and-offsets.md` states the rules; they need no dictionary. The end of a line also ends a sentence and
a word. Character classes follow Unicode 16.0.0 in every version of Python. The slow counterpart is
`tests/reference/boundaries.py`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastbpe.splitting.charset import CharSet

#: Kinds of boundaries, each finer than the one before.
KINDS = ("line", "sentence", "word")
SIDES = ("right", "left")  # sides of a text where tokens are cut off

BREAKS = "\n\v\f\r\x85\u2028\u2029"
TERMINATORS = ".!?\u2026\u203d\u2047\u2048\u2049\u0589\u061f\u06d4\u0964\u0965\u104b\u1362\u17d4\u17d5"
WIDE_TERMINATORS = "\u3002\uff01\uff1f\uff61"  # no space follows these
#: Characters of scripts without spaces: kana, ideographs and their marks.
IDEOGRAPHS = (
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FC, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F),
    (0x20000, 0x323AF),
)
MAX_OPENING = 8  # opening brackets and quotes that stay with the ideograph after them

_BLOCK = 1 << 15  # characters that are searched at a time


@cache
def pattern_of(kind: str) -> re.Pattern[str]:
    """Compile the pattern whose matches end at the boundaries of a kind.

    >>> [match.end() for match in pattern_of("word").finditer("one two")]
    [4, 7]
    """
    from fastbpe.splitting.charset import CharSet  # here: it is slow to import, and most programs cut no sentences

    breaks = re.escape(BREAKS)
    a_break = f"(?:\\r\\n|[{breaks}])"
    if kind == "line":
        return re.compile(a_break)
    blank = _class(CharSet.white_space() - CharSet.of(BREAKS))
    if kind == "sentence":
        narrow, wide = re.escape(TERMINATORS), re.escape(WIDE_TERMINATORS)
        closing = _class(CharSet.category("Pe") | CharSet.category("Pf") | CharSet.of("\"'"))
        lower = _class(CharSet.category("Ll"))
        # The look-behinds: a match begins with the first terminator of a run. If each could begin one, a long run
        # would take quadratic time. U+201C closes quotes in German; after wide terminators it opens them.
        return re.compile(
            f"{a_break}"
            f"|(?<![{narrow}])[{narrow}]+[{closing}\u201c]*[{blank}]+(?![{blank}{breaks}{lower}])"
            f"|(?<![{wide}{narrow}])[{narrow}]*[{wide}][{wide}{narrow}]*[{closing}]*[{blank}]*"
            f"(?![{blank}{breaks}{closing}{wide}{narrow}])"
        )
    opening = _class(CharSet.category("Ps") | CharSet.category("Pi"))
    ideograph = _class(CharSet.from_ranges(IDEOGRAPHS))
    tail = _class(
        CharSet.category("M")
        | CharSet.category("Pe")
        | CharSet.category("Pf")
        | CharSet.category("Po")
        | CharSet.category("Pd")
    )
    space = f"(?:[{blank}]+{a_break}?|{a_break})"
    other = (
        f"[^{blank}{breaks}{ideograph}{opening}]|[{opening}](?![{opening}]{{0,{MAX_OPENING - 1}}}[{ideograph}])"
    )
    return re.compile(f"[{opening}]{{0,{MAX_OPENING}}}[{ideograph}][{tail}]*{space}?|(?:{other})+{space}?|{space}")


def _class(characters: CharSet) -> str:
    """Write a set as the inside of a character class of `re`."""
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in characters.ranges)


class Boundaries:
    """Boundaries of one kind in a text, found only as far as the caller asks.

    kind: one of KINDS.
    start: position to begin at: 0, or the end of a line.
    """

    def __init__(self, text: str, kind: str, start: int = 0) -> None:
        self._text = text
        self._pattern = pattern_of(kind)
        self._found = array("q")
        self._done = start  # all boundaries up to here are found

    def last(self, low: int, high: int) -> int | None:
        """Find the last boundary in (low, high]; None if the range contains no boundary."""
        self._find(high)
        at = bisect_right(self._found, high) - 1
        return self._found[at] if at >= 0 and self._found[at] > low else None

    def first(self, low: int, high: int) -> int | None:
        """Find the first boundary in [low, high); None if the range contains no boundary."""
        self._find(low)
        while True:
            at = bisect_left(self._found, low)
            if at < len(self._found):
                return self._found[at] if self._found[at] < high else None
            if self._done >= min(high, len(self._text)):
                return None
            self._find(self._done + 1)

    def _find(self, position: int) -> None:
        """Find all boundaries up to a position, block by block. A block ends with a line."""
        while self._done < min(position, len(self._text)):
            end = line_end(self._text, self._done + _BLOCK)
            self._found.extend(match.end() for match in self._pattern.finditer(self._text, self._done, end))
            self._done = end


def line_end(text: str, position: int) -> int:
    """Find the first end of a line after a position, or else the end of the text."""
    match = pattern_of("line").search(text, position)
    return len(text) if match is None else match.end()


def line_start(text: str, position: int) -> int:
    """Find the last start of a line at or before a position."""
    size = _BLOCK
    while True:
        low = max(position - size, 0)
        last = max((text.rfind(mark, low, position) for mark in BREAKS), default=-1)
        if last == position - 1 and text[last : last + 2] == "\r\n":
            position = last  # the position is within a line break
            continue
        if last >= 0:
            return last + 1
        if not low:
            return 0
        size *= 4
