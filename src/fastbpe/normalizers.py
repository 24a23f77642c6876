"""The normalizers of Hugging Face's tokenizers: what becomes of text before it is split.

Compared with tokenizers 0.23 on every code point. Its forms are those of Unicode 9, its lower case that of a later
one; both are generated, normalizers_tables.py.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any

from fastbpe._core.front import Form, Front
from fastbpe.errors import PatternError
from fastbpe.splitting.charset import CharSet

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
Change = Callable[[str], str]

_FORWARD, _MAYBE, _NEVER = 0x100, 0x200, 0x400  # as in _core/front.pyx


def make_front(normalizers: Sequence[Mapping[str, Any]], *, prefix_space: bool = False) -> Front | None:
    """What does it all, steps as a tokenizer.json describes them; None: there is nothing to do.

    Raises PatternError for a pattern of a Replace that cannot be used, or read as tokenizers reads it.
    """
    if not normalizers and not prefix_space:
        return None
    if len(normalizers) == 1 and normalizers[0]["type"] in FORMS:
        return Front(form=form(normalizers[0]["type"]), prefix_space=prefix_space)
    change = make_change(normalizers)
    if change is None:
        return Front(prefix_space=prefix_space)
    return Front(change=lambda data: change(data.decode()).encode(), prefix_space=prefix_space)


def make_change(normalizers: Sequence[Mapping[str, Any]]) -> Change | None:
    """What becomes of a text, as a function; None: nothing.

    >>> make_change([{"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}])("A")
    'b'
    """
    steps = [_change(described) for described in normalizers]
    if not steps:
        return None
    return lambda text: reduce(lambda changed, step: step(changed), steps, text)


def _change(described: Mapping[str, Any]) -> Change:
    match described:
        case {"type": ("NFC" | "NFD" | "NFKC" | "NFKD") as name}:
            normalize = form(name).normalize
            return lambda text: normalize(text).decode()
        case {"type": "Lowercase"}:
            table = lower_case()
            return lambda text: text.translate(table)
        case {"type": "StripAccents"}:
            removed = accents()
            return lambda text: text.translate(removed)
        case {"type": "Strip", "strip_left": left, "strip_right": right}:
            return _strip(left, right)
        case {"type": "Prepend", "prepend": prefix}:
            return lambda text: prefix + text if text else text
        case {"type": "Replace", "pattern": {"String": text_}, "content": content}:
            return lambda text: text.replace(text_, content) if text_ else text
        case {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}:
            return _replace(pattern, content)
    raise PatternError(f"the normalizer {described!r:.80} is not known to this fastbpe; upgrade it")


def _strip(left: bool, right: bool) -> Change:
    spaces = "".join(chr(c) for first, last in CharSet.white_space().ranges for c in range(first, last + 1))

    def strip(text: str) -> str:
        text = text.lstrip(spaces) if left else text
        return text.rstrip(spaces) if right else text

    return strip


def _replace(pattern: str, content: str) -> Change:
    from fastbpe.splitting.oniguruma import from_oniguruma
    from fastbpe.splitting.to_regex import compile_regex

    compiled = compile_regex(from_oniguruma(pattern))
    return lambda text: compiled.sub(lambda _: content, text)


# What tables of a few kilobytes hold is unpacked when a tokenizer needs it.


@cache
def form(name: str) -> Form:
    """One of FORMS, as tokenizers has it."""
    from fastbpe import normalizers_tables as tables

    flags: dict[int, int] = {}
    for word in tables.ORDERS.split():
        ranges, _, order = word.partition(":")
        flags |= dict.fromkeys(_characters(ranges), int(order, 16))
    parts = [(tables.NOT[name], _NEVER)]
    if name in ("NFC", "NFKC"):
        flags |= dict.fromkeys(range(0xAC00, 0xD7A4, 28), _FORWARD)  # syllables that may take a last consonant
        parts += [(tables.FORWARD, _FORWARD), (tables.MAYBE, _MAYBE)]
    for ranges, flag in parts:
        for character in _characters(ranges):
            flags[character] = flags.get(character, 0) | flag
    return Form(name, [(character, character, what) for character, what in flags.items()])


@cache
def lower_case() -> Mapping[int, str]:
    """What becomes of characters that have a lower case."""
    from fastbpe.normalizers_tables import LOWER

    texts = zlib.decompress(base64.b85decode(LOWER)).decode().split("\0")
    return {ord(upper): lower for upper, lower in zip(texts[::2], texts[1::2], strict=True)}


@cache
def accents() -> Mapping[int, None]:
    """What StripAccents removes."""
    from fastbpe.normalizers_tables import ACCENTS

    return dict.fromkeys(_characters(ACCENTS))


def _characters(ranges: str) -> Iterator[int]:
    for word in ranges.split():
        first, _, last = word.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)
