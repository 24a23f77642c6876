"""Normalization rules that a tokenizer.json cannot hold, and a text that shows the difference.

The normalizer Precompiled of tokenizers runs the rules of a sentencepiece model, but differently: it replaces a
character together with the combining marks after it if they have fewer than six bytes. sentencepiece replaces the
longest source of a rule and keeps the rest.
"""

from __future__ import annotations

import struct

_LABEL, _HAS_VALUE, _WIDE, _VALUE = 0x800000FF, 0x100, 0x200, 0x7FFFFFFF  # bits of a double array's unit (Darts)
_ACCENT = "\u0301"  # a combining mark, two bytes of UTF-8
#: Characters of at most three bytes of UTF-8 that many sets of rules change.
_LIKELY = ("\ufb01", "\u00a0", "\u3000", *map(chr, range(0x20, 0x3100)))


def shown_apart(charsmap: bytes) -> str:
    """Describe a text that tokenizers and sentencepiece normalize differently; "" if none is found."""
    for character in _LIKELY:
        target = find(charsmap, character)
        if (
            target is None
            or find(charsmap, character + _ACCENT) is not None
            or find(charsmap, _ACCENT) is not None
        ):
            continue
        return (
            f": of the text {character + _ACCENT!a} they make {target + _ACCENT!a}, and the normalizer "
            f"Precompiled of tokenizers {target!a}"
        )
    return ""


def find(charsmap: bytes, source: str) -> str | None:
    """Return the target of the rule whose source is exactly this text, or None.

    Requires: `charsmap` has passed the checks of `charsmap_rules`.
    """
    (n,) = struct.unpack_from("<I", charsmap)
    units = memoryview(charsmap)[4 : 4 + n].cast("I")
    at = _offset(units[0])
    unit = units[0]
    for byte in source.encode():
        at ^= byte
        if at >= len(units) or units[at] & _LABEL != byte:
            return None
        unit = units[at]
        at ^= _offset(unit)
    if not unit & _HAS_VALUE or at >= len(units):
        return None
    start = 4 + n + (units[at] & _VALUE)
    return charsmap[start : charsmap.index(b"\0", start)].decode()


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & _WIDE) >> 6)
