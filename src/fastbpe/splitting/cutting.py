"""Find safe cuts in a document that is too long for memory: no piece and no special token crosses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.safe_cuts import last_safe_cut

_TAIL_BYTES = 1 << 12  # bytes before the last possible cut that are searched first: nearly always enough
MAX_TOKEN_BYTES = 1 << 14  # longest special token: half of the window of `corpus.text_blocks`, which relies on it
_MAX_TRIES = 16  # cuts to try, each before a special token; in a row of these, none may be good


def make_cutter(
    splitter: Splitter, special: Iterable[str] = (), crossed: bytes | None = None
) -> Callable[[bytes], int] | None:
    """Return a function that returns the last safe cut it finds in UTF-8 bytes, or 0; None if no cuts are known.

    special: tokens that are separated from the text before it is split. No cut is inside one, whatever text
        follows. If one has more than MAX_TOKEN_BYTES, no cuts are known.
    crossed: the borders of pieces that tokens may cross, as for `last_safe_cut`.
    """
    tokens = [name.encode() for name in special]
    longest = max(map(len, tokens), default=1)
    if not splitter.cuttable or longest > MAX_TOKEN_BYTES:
        return None

    def cut(data: bytes) -> int:
        # A token that begins in the last longest - 1 bytes may go on in the text that follows: no cut is there.
        last = len(data) - longest + 1
        for _ in range(_MAX_TRIES):
            at = _last_cut(data, last, crossed)
            if not at:
                return 0
            # A token of the text has the cut inside if it lies within these bytes.
            around = [data.find(token, max(at - len(token) + 1, 0), at + len(token) - 1) for token in tokens]
            last = min((begin for begin in around if begin >= 0), default=-1)
            if last < 0:
                return at
        return 0

    return cut


def _last_cut(data: bytes, last: int, crossed: bytes | None) -> int:
    """Return the last safe cut at or before `last`, or 0. Search only the end of the text first.

    A cut of the end is one of the whole text: it depends on the characters next to it.
    """
    end = _next_character(data, max(last, 0) + 1)
    start = _next_character(data, max(end - _TAIL_BYTES, 0))
    at = last_safe_cut(data[start:end], crossed)
    return start + at if at else last_safe_cut(data[:end], crossed)


def _next_character(data: bytes, at: int) -> int:
    """Return the first position at or after a position that is not inside a character."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at
