"""Where in a text the ids of code-point mode come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import chain

from fastbpe._core.text import to_utf8
from fastbpe._core.tokens import TokenEncoder

Span = tuple[int, int]


def encode_with_places(
    encoder: TokenEncoder, text: str | bytes, special_tokens: Mapping[str, int], byte_ids: Collection[int]
) -> tuple[list[int], list[Span]]:
    """(ids, offsets): (start, end) of each id in characters of the text, which is cut at the special tokens.

    A space that was put before the text has an empty span; the ids of a character's bytes have all its own.
    """
    joined = to_utf8(text).decode()
    ids: list[int] = []
    offsets: list[Span] = []
    at = 0
    for start, end in chain(_found(joined, special_tokens), [(len(joined), len(joined))]):
        tokens = encoder.encode(joined[at:start].encode(), offsets=True)
        own = tokens.ids()
        spans = _of_whole_characters(own, tokens.offsets(in_characters=True), byte_ids)
        ids += own
        offsets += [(at + begin, at + behind) for begin, behind in spans]
        if start < end:
            ids.append(special_tokens[joined[start:end]])
            offsets.append((start, end))
        at = end
    if isinstance(text, str) and len(text) != len(joined):
        places = _places(text, joined)
        offsets = [(places[start], places[end]) for start, end in offsets]
    return ids, offsets


def _found(text: str, special_tokens: Mapping[str, int]) -> list[Span]:
    """Special tokens: the leftmost, and of those that begin there the longest."""
    if not special_tokens:
        return []
    names = sorted(special_tokens, key=len, reverse=True)
    return [match.span() for match in re.finditer("|".join(map(re.escape, names)), text)]


def _of_whole_characters(ids: list[int], spans: list[Span], byte_ids: Collection[int]) -> list[Span]:
    """All but the last of a character's bytes have an empty span at its beginning: they get that of the last."""
    for i in range(len(ids) - 2, -1, -1):
        begin, behind = spans[i]
        if begin == behind == spans[i + 1][0] and ids[i] in byte_ids and ids[i + 1] in byte_ids:
            spans[i] = spans[i + 1]
    return spans


def _places(text: str, joined: str) -> list[int]:
    """Where each character of a text begins, and the last ends, in the text with surrogate pairs."""
    places, at = [], 0
    for character in joined:
        places.append(at)
        at += 1 if text[at] == character or character == "\ufffd" else 2
    return [*places, at]
