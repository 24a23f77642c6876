"""Boundaries of lines, sentences and words, character by character."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

BREAKS = "\n\v\f\r\x85\u2028\u2029"
TERMINATORS = ".!?…‽⁇⁈⁉։؟۔।॥။።។៕"
WIDE_TERMINATORS = "。！？｡"
BLANKS = "\t \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
MAX_OPENING = 8


def boundaries(text: str, kind: str) -> list[int]:
    """Return the positions inside a text at which a line, a sentence or a word ends.

    >>> boundaries("Ah, 3.5! \\"So?\\" he said.\\nNo.", "sentence")
    [9, 24]
    >>> boundaries("你好，world (x) y", "word")
    [1, 3, 9, 13]
    """
    is_end: Callable[[str, int], bool] = {"line": ends_line, "sentence": ends_sentence, "word": ends_word}[kind]
    return [at for at in range(1, len(text)) if is_end(text, at)]


def ends_line(text: str, at: int) -> bool:
    """Tell whether a line ends before text[at]."""
    return text[at - 1] in BREAKS and text[at - 1 : at + 1] != "\r\n"


def ends_sentence(text: str, at: int) -> bool:
    """Tell whether a sentence ends before text[at]."""
    if ends_line(text, at):
        return True
    if text[at - 1] in BREAKS or text[at] in BREAKS or is_blank(text[at]):
        return False
    end = at
    while end and is_blank(text[end - 1]):
        end -= 1
    closed = end
    while closed and (is_closing(text[closed - 1]) or text[closed - 1] == "\u201c"):
        closed -= 1
    narrow = closed and text[closed - 1] in TERMINATORS
    if narrow and end < at and unicodedata.category(text[at]) != "Ll":
        return True
    closed = end
    while closed and is_closing(text[closed - 1]):
        closed -= 1
    run = closed
    while run and text[run - 1] in TERMINATORS:
        run -= 1
    follows = is_closing(text[at]) or text[at] in TERMINATORS + WIDE_TERMINATORS
    return bool(run) and text[run - 1] in WIDE_TERMINATORS and not follows


def ends_word(text: str, at: int) -> bool:
    """Tell whether a word ends before text[at]."""
    before, after = text[at - 1], text[at]
    if ends_line(text, at):
        return True
    if before in BREAKS or is_blank(after) or after in BREAKS:
        return False
    if is_blank(before):
        return True
    if is_ideograph(after):
        return not leads(text, at - 1)
    if leads(text, at):
        return not leads(text, at - 1)
    # text[at] continues the word before it, or is the closing punctuation of an ideograph.
    end = at
    while end and is_tail(text[end - 1]):
        end -= 1
    if (end and is_ideograph(text[end - 1])) or is_ideograph(before):
        return not is_tail(after)
    return False


def leads(text: str, at: int) -> bool:
    """Tell whether text[at] is an opening bracket or quote that stays with an ideograph after it."""
    end = at
    while end < len(text) and is_opening(text[end]):
        end += 1
    return 0 < end - at <= MAX_OPENING and end < len(text) and is_ideograph(text[end])


def is_blank(character: str) -> bool:
    """Tell whether a character is white space, but no line break."""
    return character in BLANKS


def is_closing(character: str) -> bool:
    """Tell whether a character is a closing bracket or quote."""
    return character in "\"'" or _is_any(character, "Pe", "Pf")


def is_opening(character: str) -> bool:
    """Tell whether a character is an opening bracket or quote."""
    return _is_any(character, "Ps", "Pi")


def is_tail(character: str) -> bool:
    """Tell whether a character is a mark or punctuation that stays with the ideograph before it."""
    return _is_any(character, "M", "Pe", "Pf", "Po", "Pd")


def is_ideograph(character: str) -> bool:
    """Tell whether a character is kana, an ideograph, or a sign that repeats these; not the middle dot of kana."""
    names = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")
    return unicodedata.name(character, "").startswith(names) and not _is_any(character, "P", "M", "S")


def _is_any(character: str, *categories: str) -> bool:
    return unicodedata.category(character).startswith(categories)
