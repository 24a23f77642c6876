"""Scripts of characters as UnicodeScripts of tokenizers tells them, which has Unicode 9."""

from __future__ import annotations

from functools import cache

from fastbpe.normalization.huggingface import without_script
from fastbpe.splitting.charset import script_of

_LONG_VOWEL = "\u30fc"  # written with both kana
#: Scripts that are one for UnicodeScripts.
_JOINED = {"Hiragana": "Han", "Katakana": "Han"}
#: Characters that have had another script since Unicode 9.
_MOVED = {"\u0589": "Common", "\u061c": "Common", "\u0953": "Devanagari", "\u0954": "Devanagari"}


def script_starts(text: str) -> list[int]:
    """Return the indices at which UnicodeScripts begins a piece; the text before the first is left out.

    >>> script_starts(" a b\u6f22")
    [1, 4]
    """
    starts: list[int] = []
    last = None
    for i, character in enumerate(text):
        script = _script(character)
        if script is not None and script != last:
            starts.append(i)
            last = script
    return starts


@cache
def _none() -> frozenset[int]:
    return frozenset({ord(" "), *without_script()})


def _script(character: str) -> str | None:
    """Return the script of a character; None: it goes with any."""
    if ord(character) in _none():
        return None
    if character == _LONG_VOWEL:
        return "Han"
    found = _MOVED.get(character) or script_of(character)
    return _JOINED.get(found, found)
