"""Rules of a precompiled charsmap, read in Python: pairs of a source text and its target.

The trie of sources is a double array (Darts): a unit's child for a byte is at base ^ byte, and its value, the
offset of the target, is at the base itself. `_core/normalize` applies the rules to whole texts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from fastbpe.formats.byte_order import little_endian

# Bits of a unit. A value has bit 31, which the label includes, so that no value is taken for the child of a byte.
_LABEL, _HAS_VALUE, _WIDE, _VALUE = 0x800000FF, 0x100, 0x200, 0x7FFFFFFF


class Charsmap:
    """Rules of a charsmap that has passed the checks of `charsmap_rules`."""

    def __init__(self, data: bytes) -> None:
        (n,) = struct.unpack_from("<I", data)
        self._units = memoryview(little_endian(memoryview(data)[4 : 4 + n], 4)).cast("I")
        self._targets = data[4 + n :]

    def find(self, source: str) -> str | None:
        """Return the target of the rule whose source is exactly this text, or None."""
        data = source.encode()
        return next((target for n, target in self._matches(data) if n == len(data)), None)

    def shortest(self, text: str) -> str | None:
        """Return the target of the rule with the shortest source that is a prefix of a text, or None."""
        return next((target for _, target in self._matches(text.encode())), None)

    def _matches(self, data: bytes) -> Iterator[tuple[int, str]]:
        """Yield the length and the target of each rule whose source is a prefix of data, the shortest first."""
        units = self._units
        base = _offset(units[0])
        for n, byte in enumerate(data, 1):
            at = base ^ byte  # for byte 0, the place of a value
            if not byte or at >= len(units) or units[at] & _LABEL != byte:
                return
            base = at ^ _offset(units[at])
            if units[at] & _HAS_VALUE and base < len(units):
                start = units[base] & _VALUE
                yield n, self._targets[start : self._targets.index(b"\0", start)].decode("utf-8", "replace")


def _offset(unit: int) -> int:
    """Return the number that turns the index of a unit into its base by xor: bits 10 to 31, shifted if _WIDE."""
    return (unit >> 10) << ((unit & _WIDE) >> 6)


_ACCENT = "\u0301"  # a combining mark, two bytes of UTF-8
#: Characters to try; many sets of rules change the first three. With _ACCENT, each is a grapheme of at most five
#: bytes of UTF-8: tokenizers replaces such a grapheme as a whole, so the accent is lost.
_LIKELY = ("\ufb01", "\u00a0", "\u3000", *map(chr, range(0x20, 0x3100)))


def shown_apart(charsmap: bytes) -> str:
    """Return the end of a message: ": " and a text that tokenizers and sentencepiece normalize differently.

    Only texts with a character in _LIKELY are tried; "" if none differs.
    """
    rules = Charsmap(charsmap)
    for character in _LIKELY:
        target = rules.find(character)
        # A rule for the accent, or for both, would make sentencepiece change the accent, too.
        if target is None or rules.find(character + _ACCENT) is not None or rules.find(_ACCENT) is not None:
            continue
        return (
            f": sentencepiece changes the text {character + _ACCENT!a} into {target + _ACCENT!a}, but the "
            f"normalizer Precompiled of tokenizers changes it into {target!a}"
        )
    return ""
