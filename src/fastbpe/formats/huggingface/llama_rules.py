"""Rules of normalization that a tokenizer.json cannot say, and a text that shows it.

tokenizers has a normalizer for the rules of a sentencepiece model, Precompiled. But it replaces a character with
the marks behind it, as long as they have fewer than six bytes; sentencepiece replaces the longest source of a rule
and leaves the rest.
"""

from __future__ import annotations

import struct

_LABEL, _HAS_VALUE, _WIDE, _VALUE = 0x800000FF, 0x100, 0x200, 0x7FFFFFFF  # in the units of a charsmap
_METASPACE = "\u0301"  # of two bytes
#: Characters that rules of many kinds change, of at most three bytes.
_LIKELY = ("\ufb01", "\u00a0", "\u3000", *map(chr, range(0x20, 0x3100)))


def shown_apart(charsmap: bytes) -> str:
    """Show a text that tokenizers and sentencepiece normalize differently, for an error; "" if none is found."""
    for character in _LIKELY:
        target = find(charsmap, character)
        if (
            target is None
            or find(charsmap, character + _METASPACE) is not None
            or find(charsmap, _METASPACE) is not None
        ):
            continue
        return (
            f": of the text {character + _METASPACE!a} they make {target + _METASPACE!a}, and the normalizer "
            f"Precompiled of tokenizers {target!a}"
        )
    return ""


def find(charsmap: bytes, source: str) -> str | None:
    """The result of the rule for just this source; None if there is none. charsmap: one that was checked."""
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
