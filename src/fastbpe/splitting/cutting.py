"""Cutting a document that is too long to hold where neither a piece nor a special token goes across."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.safe_cuts import last_safe_cut

_TAIL = 1 << 12  # bytes
_TRIES = 16  # each reads the text again; text of special tokens end to end may wait for a better place


def make_cutter(splitter: Splitter, special: Iterable[str] = ()) -> Callable[[bytes], int] | None:
    """What finds the last place of a text where it may be cut, or 0; None for a splitter without known ones.

    special: tokens that cut the text before it is split: none is cut itself, whatever follows the text.
    """
    if not splitter.cuttable:
        return None
    tokens = [name.encode() for name in special]
    longest = max(map(len, tokens), default=1)

    def cut(data: bytes) -> int:
        at = _last_cut(data)
        for _ in range(_TRIES):
            inside = len(data) - at < longest - 1 or any(
                token in data[max(at - len(token) + 1, 0) : at + len(token) - 1] for token in tokens
            )
            if not at or not inside:
                return at
            at = _last_cut(data[:at])
        return 0

    return cut


def _last_cut(data: bytes) -> int:
    """What last_safe_cut gives, from the end of the text alone where that is enough: nearly always."""
    start = max(len(data) - _TAIL, 0)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    at = last_safe_cut(data[start:])
    return start + at if at else last_safe_cut(data)
