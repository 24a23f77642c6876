"""The bytes of a token as text in which every character is visible and none controls a terminal or a page.

A space becomes a middle dot, a tab or line feed an arrow, any other ASCII control character its Unicode control
picture. Any other character without a visible shape (zero-width, directional, private, unassigned) becomes its
code point in brackets. Bytes that are not a whole character become hexadecimal digits in brackets. A combining
mark at the beginning gets a dotted circle.
"""

from __future__ import annotations

import re
import unicodedata

from fastbpe._utils.named_tuples import NamedTuple

#: Characters that are shown by a sign one column wide.
SIGNS = {" ": "·", "\t": "→", "\n": "↵", "\r": "␍", "\x7f": "␡"} | {
    chr(code): chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"
}
#: Characters that show nothing, although str.isprintable() is true for them: Unicode's property
#: Default_Ignorable_Code_Point, and the braille pattern without dots (U+2800).
_WITHOUT_SHAPE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # surrogates by which the error handler "surrogateescape" replaces bytes
_DOTTED_CIRCLE = "\u25cc"


class Part(NamedTuple):
    """Part of a token's visible text.

    text: str – characters of the token, or a sign.
    is_sign: bool – whether text is a sign, which stands for a character or for bytes that are not UTF-8, or is the
        dotted circle before a combining mark.
    """

    text: str
    is_sign: bool


def visible(data: bytes) -> list[Part]:
    r"""Return the visible text of a token, in parts.

    >>> [part.text for part in visible(b" caf\xc3\xa9\n\xe6\xbc")]
    ['·', 'café', '↵', '⟨e6 bc⟩']
    """
    text = data.decode("utf-8", "surrogateescape")
    if not text:
        return []
    parts: list[Part] = []
    if (is_mark(text[0]) or unicodedata.category(text[0]) == "Mc") and not _is_hidden(text[0]):
        parts.append(Part(_DOTTED_CIRCLE, True))  # else a combining mark would combine with the token before it
    start = at = 0
    while at < len(text):
        if not _is_hidden(text[at]):
            at += 1
            continue
        if start < at:
            parts.append(Part(text[start:at], False))
        start = at = _append_sign(parts, text, at)
    if start < at:
        parts.append(Part(text[start:at], False))
    return parts


def visible_text(text: str) -> str:
    r"""Return the visible form of a name or a message; spaces do not change.

    >>> visible_text("a b\u202etxt")
    'a b⟨U+202E⟩txt'
    """
    data = text.encode("utf-8", "backslashreplace")
    return " ".join("".join(part.text for part in visible(word)) for word in data.split(b" "))


def is_mark(character: str) -> bool:
    """Tell whether a character has no width: a combining mark, or a vowel or final consonant of a Hangul syllable.

    >>> is_mark("\u0e34"), is_mark("\u1161"), is_mark("a")
    (True, True, False)
    """
    is_jamo = "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7fb"
    return is_jamo or unicodedata.category(character) in ("Mn", "Me")


def _is_hidden(character: str) -> bool:
    # A space is the only printable character that is shown as a sign.
    return character == " " or not character.isprintable() or _WITHOUT_SHAPE.match(character) is not None


def _append_sign(parts: list[Part], text: str, at: int) -> int:
    """Append the sign of the character or bytes at a position. Returns the position after them."""
    if not _is_byte(text[at]):
        sign = SIGNS.get(text[at]) or f"⟨U+{ord(text[at]):04X}⟩"
        parts.append(Part(sign, True))
        return at + 1
    end = at
    while end < len(text) and _is_byte(text[end]):
        end += 1
    digits = " ".join(f"{ord(character) - 0xDC00:02x}" for character in text[at:end])
    parts.append(Part(f"⟨{digits}⟩", True))
    return end


def _is_byte(character: str) -> bool:
    return _FIRST_BYTE <= ord(character) <= _LAST_BYTE
