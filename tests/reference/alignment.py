"""Origins of the characters of a normalized text, as tokenizers counts them: the slow twin of `unicode_forms`.

A normalizer describes its walk over a text as pairs: (character to put, number of characters of the text that it
takes the place of). If that number is above one, the characters after the first are left out. If it is 0, the
character is inserted, and its origin is the character of the text before it. ("", n) leaves n characters out.
`sources` replays the pairs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

Put = tuple[str, int]


def sources(put: Iterable[Put]) -> list[int]:
    """Return the origin of each character that was put: the index of a character of the text.

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
    """Put a text in NFC, NFD, NFKC or NFKD: decompose, order by class, and compose if the form says so."""
    put: list[Put] = []
    for character in text:
        parts = unicodedata.normalize("NFKD" if "K" in name else "NFD", character)
        put += [(part, int(not i)) for i, part in enumerate(parts)]
    order = [unicodedata.combining(character) for character, _ in put]
    for end in range(len(put)):  # insertion sort is stable: characters of one class keep their order
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
    """Tell whether no character between a starter and a later character blocks their composition."""
    between = [unicodedata.combining(character) for character, _ in put[starter + 1 : at]]
    return all(0 < order < unicodedata.combining(put[at][0]) for order in between)


def put_each(text: str, change: Callable[[str], str]) -> list[Put]:
    """Put each character changed by itself."""
    put: list[Put] = []
    for character in text:
        made = change(character)
        put += [(part, int(not i)) for i, part in enumerate(made)] or [("", 1)]
    return put


def put_before(text: str, prefix: str) -> list[Put]:
    """Put a prefix: it takes the place of the first character, which is then inserted again."""
    whole = prefix + text[:1]
    return [(character, int(not i)) for i, character in enumerate(whole)] + [(c, 1) for c in text[1:]]


def put_replaced(text: str, spans: Iterable[tuple[int, int]], content: str) -> list[Put]:
    """Put content in place of each span: the whole span is left out, then the content is inserted."""
    put: list[Put] = []
    at = 0
    for start, end in spans:
        put += [(character, 1) for character in text[at:start]] + [("", end - start)]
        put += [(character, 0) for character in content]
        at = end
    return put + [(character, 1) for character in text[at:]]
