"""Normalize text as sentencepiece does before it merges: the slow twin of `sentencepiece_normalizer`.

All work is on bytes. The rules of a model are its charsmap: a double-array trie (Aoe 1989, Darts) over byte
strings, and the replacement of each. `rules_of` turns one into a dict.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

METASPACE = "▁".encode()
REPLACEMENT = "\ufffd".encode()


def rules_of(charsmap: bytes) -> dict[bytes, bytes]:
    """Return the rules of a precompiled charsmap: source → replacement.

    The children of the trie's unit at position p are at (p ^ offset) ^ byte, each labelled with its byte. A unit
    that ends a source has its value at p ^ offset.
    """
    if not charsmap:
        return {}
    n_bytes = struct.unpack_from("<I", charsmap)[0]
    units = struct.unpack_from(f"<{n_bytes // 4}I", charsmap, 4)
    replacements = charsmap[4 + n_bytes :]
    below: dict[int, list[int]] = {}  # p ^ offset of a unit → positions of its children
    for at, unit in enumerate(units):
        below.setdefault(at ^ (unit & 0xFF), []).append(at)
    rules = {}
    todo = [(b"", _base(units, 0))]
    while todo:
        key, base = todo.pop()
        for at in below.get(base, ()):
            byte = units[at] & 0x800000FF
            if not 1 <= byte <= 255:
                continue
            longer = key + bytes([byte])
            if units[at] & 0x100:
                start = units[_base(units, at)] & 0x7FFFFFFF
                rules[longer] = replacements[start : replacements.index(0, start)]
            todo.append((longer, _base(units, at)))
    return rules


def _base(units: tuple[int, ...], at: int) -> int:
    unit = units[at]
    return at ^ (unit >> 10) << ((unit & 0x200) >> 6)


@dataclass(frozen=True)
class Normalizer:
    """Rules of a model, and its options for white space.

    symbols: user-defined symbols, which are not normalized.
    """

    rules: Mapping[bytes, bytes] = field(default_factory=dict)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    symbols: Iterable[bytes] = ()

    def normalize(self, text: bytes) -> tuple[bytes, list[int]]:
        """Return (normalized text, origin in the text of each of its bytes and of its end).

        >>> normalized, offsets = Normalizer().normalize(b" a  b ")
        >>> normalized.decode(), offsets
        ('▁a▁b', [1, 1, 1, 1, 2, 2, 2, 4, 5])
        """
        trim = self.remove_extra_whitespaces
        space = METASPACE if self.escape_whitespaces else b" "
        steps = [*self._steps(text)]
        while trim and steps and steps[0][1] == b" ":
            steps.pop(0)
        if not steps:
            return b"", []
        out, offsets = bytearray(), []

        def write(data: bytes, at: int) -> None:
            out.extend(data)
            offsets.extend([at] * len(data))

        if self.add_dummy_prefix and not self.treat_whitespace_as_suffix:
            write(space, steps[0][0])
        after_space = trim
        for at, data, _ in steps:
            written = data.lstrip(b" ") if after_space else data
            write(written.replace(b" ", space), at)
            if written:
                after_space = trim and written.endswith(b" ")
        end = steps[-1][2]
        while trim and out.endswith(space):
            end = offsets[len(out) - len(space)]
            del out[-len(space) :], offsets[-len(space) :]
        if self.add_dummy_prefix and self.treat_whitespace_as_suffix:
            write(space, end)
        return bytes(out), [*offsets, end]

    def _steps(self, text: bytes) -> Iterator[tuple[int, bytes, int]]:
        """Yield (start of a step, its replacement, its end)."""
        at = 0
        while at < len(text):
            data, n_bytes = self._step(text, at)
            yield at, data, at + n_bytes
            at += n_bytes

    def _step(self, text: bytes, at: int) -> tuple[bytes, int]:
        symbol = max((s for s in self.symbols if text.startswith(s, at)), key=len, default=b"")
        if symbol:
            return symbol, len(symbol)
        for n_bytes in range(self._longest_rule, 0, -1):
            if text[at : at + n_bytes] in self.rules and at + n_bytes <= len(text):
                return self.rules[text[at : at + n_bytes]], n_bytes
        n_bytes = char_bytes(text, at)
        return (text[at : at + n_bytes], n_bytes) if n_bytes else (REPLACEMENT, 1)

    @cached_property
    def _longest_rule(self) -> int:
        return max(map(len, self.rules), default=0)


def char_bytes(text: bytes | bytearray, at: int) -> int:
    """Return the bytes of the character that begins at an offset within the text; 0 if none does.

    >>> char_bytes("é".encode(), 0), char_bytes("é".encode(), 1)
    (2, 0)
    """
    for n_bytes in (1, 2, 3, 4):
        try:
            text[at : at + n_bytes].decode()
        except UnicodeDecodeError:
            continue
        return n_bytes
    return 0
