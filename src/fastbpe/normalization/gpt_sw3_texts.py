"""Changes that GPT-SW3's class of transformers makes to texts before a sentencepiece model encodes them.

It removes control characters except tab and line feed, and U+00A0, U+00AD and U+200B, turns several other
characters into spaces, and composes characters (NFC). The class runs in Python, so NFC follows the Unicode
version of Python.
"""

from __future__ import annotations

from functools import cache
from unicodedata import category, is_normalized, normalize

from fastbpe._core.normalize.text_steps import Changed, Front, Mapped
from fastbpe.normalization.text_rules import TextRules

_GONE = ((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x200B, 0x200B))
_SPACES = "\u2002\u2003\u2005\u2008\u2009\u200a\u202f\u3000\ufffc"


@cache
def rules() -> TextRules:
    """Return the rules."""
    spaces = dict.fromkeys(map(ord, _SPACES), " ")
    table = {code: None for first, last in _GONE for code in range(first, last + 1)} | spaces
    gone = "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in _GONE)
    replaces = [(f"[{gone}]", ""), (f"[{_SPACES}]", " ")]
    steps = [{"type": "Replace", "pattern": {"Regex": regex}, "content": content} for regex, content in replaces]
    return TextRules(
        Front([Mapped(spaces, _GONE, ()), Changed(_compose, _sources)]),
        lambda text: _compose(text.translate(table)),
        [*steps, {"type": "NFC"}],
    )


def _compose(text: str) -> str:
    return normalize("NFC", text)


def _sources(text: str) -> list[int] | None:
    """Return, for each character of the composed text, where its source begins; None: the text does not change."""
    if is_normalized("NFC", text):
        return None
    starts = [at for at in range(len(text)) if not at or not _may_join(text[at - 1 : at + 1])]
    made: list[int] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        made += [start] * len(normalize("NFC", text[start:end]))
    return made


def _may_join(pair: str) -> bool:
    """Tell whether the second of two characters may combine with the first, or with others before it."""
    behind = pair[1]
    is_part = category(behind)[0] == "M" or "\u1160" <= behind <= "\u11ff"  # a mark, or a vowel or end of Hangul
    return is_part or normalize("NFC", pair) != normalize("NFC", pair[0]) + normalize("NFC", behind)
