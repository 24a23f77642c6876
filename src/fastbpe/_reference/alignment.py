"""Where the characters of a normalized text come from, as tokenizers counts it: the slow twin of `normalizers`.

A normalizer says how it goes over its text: (a character that it puts there, how many characters of the text
that takes the place of). More than one: what follows the first is left out. None: the character is put in
besides, and counts as coming from where the one before it in the text stood. ("", n) leaves n characters out.
`sources` plays that back.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

Put = tuple[str, int]


def sources(put: Iterable[Put]) -> list[int]:
    """Of each character that was put, which one of the text it comes from.

    >>> sources([("f", 1), ("i", 0), ("x", 2), ("", 1), ("y", 1)])
    [0, 0, 1, 4]
    """
    out, at = [], 0
    for character, taken in put:
        if character:
            out.append(at if taken else max(at - 1, 0))
        at += taken
    return out


def put_form(text: str, name: str) -> list[Put]:
    """NFC, NFD, NFKC or NFKD: taken apart, brought into order, and put together where the form says so."""
    put: list[Put] = []
    for character in text:
        parts = unicodedata.normalize("NFKD" if "K" in name else "NFD", character)
        put += [(part, int(not i)) for i, part in enumerate(parts)]
    order = [unicodedata.combining(character) for character, _ in put]
    for end in range(len(put)):  # insertion sort: characters of one class keep their order
        at = end
        while at and order[at] and order[at - 1] > order[at]:
            put[at - 1 : at + 1] = [put[at], put[at - 1]]
            order[at - 1 : at + 1] = [order[at], order[at - 1]]
            at -= 1
    if name in ("NFC", "NFKC"):
        at = 0
        while at < len(put):
            starter = next((i for i in range(at - 1, -1, -1) if not unicodedata.combining(put[i][0])), None)
            if starter is not None and _meet(put, starter, at):
                one = unicodedata.normalize("NFC", put[starter][0] + put[at][0])
                if len(one) == 1:
                    put[starter] = (one, put[starter][1] + put[at][1])
                    del put[at]
                    continue
            at += 1
    return put


def _meet(put: Sequence[Put], starter: int, at: int) -> bool:
    """Whether nothing between a starter and a character behind it blocks the two."""
    between = [unicodedata.combining(character) for character, _ in put[starter + 1 : at]]
    return all(0 < order < unicodedata.combining(put[at][0]) for order in between)


def put_each(text: str, change: Callable[[str], str]) -> list[Put]:
    """What becomes of each character by itself."""
    put: list[Put] = []
    for character in text:
        made = change(character)
        put += [(part, int(not i)) for i, part in enumerate(made)] or [("", 1)]
    return put


def put_before(text: str, prefix: str) -> list[Put]:
    """A prefix: it takes the place of the first character, which is put behind it once more."""
    whole = prefix + text[:1]
    return [(character, int(not i)) for i, character in enumerate(whole)] + [(c, 1) for c in text[1:]]


def put_replaced(text: str, spans: Iterable[tuple[int, int]], content: str) -> list[Put]:
    """Content in place of each span: all of the span is left out, then the content is put in besides."""
    put: list[Put] = []
    at = 0
    for start, end in spans:
        put += [(character, 1) for character in text[at:start]] + [("", end - start)]
        put += [(character, 0) for character in content]
        at = end
    return put + [(character, 1) for character in text[at:]]
