"""Find safe cuts in a document that is too long for memory: no piece and no special token crosses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.safe_cuts import last_safe_cut

_TAIL_BYTES = 1 << 12  # bytes at the end of a text that are searched first
MAX_TOKEN_BYTES = 1 << 14  # longest special token: half of the window of `corpus.text_blocks`, which relies on it
_MAX_TRIES = 16  # cuts to try, each after another search; in a row of special tokens, none may be good


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
        at = _last_cut(data, crossed)
        for _ in range(_MAX_TRIES):
            # A token that begins in the last longest - 1 bytes may go on in the text that follows. A token of the
            # text has the cut inside if it lies within the bytes below.
            may_be_inside = len(data) - at < longest - 1 or any(
                token in data[max(at - len(token) + 1, 0) : at + len(token) - 1] for token in tokens
            )
            if not at or not may_be_inside:
                return at
            at = _last_cut(data[:at], crossed)
        return 0

    return cut


def _last_cut(data: bytes, crossed: bytes | None) -> int:
    """Return the result of last_safe_cut. Search only the end of the text first, which is nearly always enough.

    A cut of the end is one of the whole text: it depends on the characters next to it.
    """
    start = max(len(data) - _TAIL_BYTES, 0)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    at = last_safe_cut(data[start:], crossed)
    return start + at if at else last_safe_cut(data, crossed)
