"""Normalise text as sentencepiece does, before anything is merged: the slow twin of `_core.normalizer`.

All is about bytes. The rules of a model are its charsmap: a double-array trie over byte strings, and what each of
them becomes. `rules_of` takes one apart; the normaliser then needs nothing but a dict.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

METASPACE = "▁".encode()
REPLACEMENT = "\ufffd".encode()


def rules_of(charsmap: bytes) -> dict[bytes, bytes]:
    """The rules of a precompiled charsmap: what is replaced, and by what.

    A unit of the trie at place p has its children at (p ^ offset) ^ byte, marked with that byte; where the unit
    says so, a value lies at p ^ offset itself.
    """
    if not charsmap:
        return {}
    n_bytes = struct.unpack_from("<I", charsmap)[0]
    units = struct.unpack_from(f"<{n_bytes // 4}I", charsmap, 4)
    replacements = charsmap[4 + n_bytes :]
    below: dict[int, list[int]] = {}  # the place that children are counted from → the children
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
    """The rules of a model and what it does about white space.

    symbols: user-defined symbols; text that spells one is left as it is.
    """

    rules: Mapping[bytes, bytes] = field(default_factory=dict)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    symbols: Iterable[bytes] = ()

    def normalize(self, text: bytes) -> tuple[bytes, list[int]]:
        """The normalised text; for each of its bytes and for its end the place in the text that it comes from.

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
        """Where a step begins, what it gives, and where it ends."""
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
    """The bytes of the character that begins here; 0 if none does.

    >>> char_bytes("é".encode(), 0), char_bytes("é".encode(), 1)
    (2, 0)
    """
    for n_bytes in (1, 2, 3, 4):
        try:
            text[at : at + n_bytes].decode()
        except UnicodeDecodeError:
            continue
        return n_bytes if at + n_bytes <= len(text) else 0
    return 0
