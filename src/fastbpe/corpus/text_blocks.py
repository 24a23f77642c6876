"""Blocks of a file of text or JSON lines, which end between documents or at a safe cut of a long one.

The reading thread only finds the ends of blocks. `ranges` looks at a few bytes before each end, so that the
threads that encode or count can read the blocks themselves; `held` reads a stream, which cannot be read at
positions.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any

from fastbpe._core.text.utf8_text import n_valid
from fastbpe.corpus.source_kinds import Cut

# Bytes before the end of a range that are searched first. A cut in the first half of this window counts only if
# the window is the whole block; otherwise a separator, or a special token (`splitting.cutting.MAX_TOKEN_BYTES`),
# that begins before the window might end after the cut.
WINDOW_BYTES = 1 << 15
_MAX_OVERLAPS = 64  # separators in a row that overlap; after more, the whole block is searched from the left


def ranges(
    read: Callable[[int, int], bytes], start: int, size: int, block: int, separator: bytes | None, cut: Cut | None
) -> Iterator[tuple[int, int, bool]]:
    """Divide the bytes from start to size into blocks of about `block` bytes, without reading all of them.

    Args:
        read: function from a position and a number of bytes to these bytes.
        start: position where a document begins, or continues after a safe cut.
        block: a block with a long document may be larger.
        separator: bytes after each document; None: there is one document.
        cut: function that finds safe cuts of a long document; None: it stays whole.

    Returns:
        (start, end, whether a document ends with the block) of each block.
    """
    may_end = separator is not None or cut is not None
    while True:
        near, at, ends = start + block, 0, True  # near: where the block should end
        while may_end and near < size and not at:
            at, ends = _end_before(read, start, near, separator, cut)
            near += near - start  # if it cannot end in these bytes, double their number
        yield start, at or size, ends or not at
        if not at:
            return
        start = at


def _end_before(
    read: Callable[[int, int], bytes], start: int, near: int, separator: bytes | None, cut: Cut | None
) -> tuple[int, bool]:
    """Return the last position up to `near` where a block from `start` may end, and whether a document ends there.

    The position is 0 if the block may end nowhere.
    """
    n = WINDOW_BYTES
    while True:
        first = max(near - n, start)
        data = read(first, near - first)
        at, ends = last_end(data, separator, cut, is_whole=first == start)
        if at or first == start:
            return first + at if at else 0, ends
        n *= 8


def last_end(data: bytes, separator: bytes | None, cut: Cut | None, *, is_whole: bool = True) -> tuple[int, bool]:
    """Return the last offset at which a block may end (0 if nowhere), and whether a document ends there.

    Args:
        data: bytes of the block; more may follow.
        separator, cut: as for `ranges`.
        is_whole: bool – whether data begins at the start of the block. If not, its first half is only context.
    """
    if separator is not None and (at := _after_last(data, separator, is_whole=is_whole)) >= 0:
        return at, True
    if cut is None:
        return 0, True
    first = 0
    while not is_whole and first < min(3, len(data)) and data[first] & 0xC0 == 0x80:
        first += 1  # the rest, at most three bytes, of the character that the data begins within
    n = n_valid(data[first:] if first else data)
    if not is_cut_short(data[first + n :]):
        return len(data), False  # reading the block will report the byte
    # Do not cut at the end of the data: a later block with the rest of the document must say that it ends. 2: the
    # last byte is left out even without a separator.
    at = _safe_cut(data[first : first + n], len(data) - first, cut, max(len(separator or b""), 2))
    # A separator may also be longer than half of the window.
    is_certain = is_whole or first + at >= max(len(data) // 2, len(separator or b""))
    return (first + at, False) if at and is_certain else (0, True)


def _safe_cut(data: bytes, n_all: int, cut: Cut, n_separator: int) -> int:
    """Find the last safe cut before bytes that may begin a separator.

    n_all: number of bytes of data and of the incomplete character after it.
    """
    at, end = cut(data), max(n_all - n_separator + 1, 0)
    if at <= end:
        return at
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return cut(data[:end])


def _after_last(data: bytes, separator: bytes, *, is_whole: bool) -> int:
    """Return the offset after the last separator, as bytes.split finds them from the left.

    Returns 0 if no separator is certain, -1 if the data contains no separator.
    A separator may overlap itself, such as two line feeds. A separator that no earlier one overlaps is certain.
    """
    n = len(separator)
    at = data.rfind(separator)
    if at < 0:
        return -1
    for _ in range(_MAX_OVERLAPS):
        if at < n - 1 and not is_whole:
            return 0
        # one that begins before the separator at `at` and overlaps it
        earlier = data.rfind(separator, max(at - n + 1, 0), at + n - 1)
        if earlier < 0:
            return at + n
        at = earlier
    if not is_whole:
        return 0
    at = 0
    while (found := data.find(separator, at)) >= 0:
        at = found + n
    return at


def held(
    file: Any, block: int, separator: bytes | None, cut: Cut | None, *, stops: bool = False
) -> Iterator[tuple[bytes, bool]]:
    """Read a stream, and divide it into blocks as `ranges` does.

    block: number of bytes to read at a time; more within a long document.
    stops: whether to end with the block that contains the first byte that is not UTF-8.

    Returns:
        (data, whether a document ends with it) of each block; the last one may be empty.
    """
    data = b""
    while True:
        # Double the data each time: a document without a safe cut is copied and checked twice, not n times.
        more = file.read(max(block, len(data)))
        if not more:
            yield data, True
            return
        data = data + more if data else more
        # No cut in less than a block: the first bytes that were read ahead, or what a pipe has so far.
        at, ends = last_end(data, separator, cut if len(data) >= block else None)
        if at:
            yield data[:at], ends
            data = data[at:]
        elif stops and not is_cut_short(data[n_valid(data) :]):
            yield data, True
            return


def is_cut_short(rest: bytes, *, final: bool = False) -> bool:
    """Tell whether the rest of a block is empty, or the beginning of a character whose other bytes may follow.

    Args:
        rest: the last bytes of a block.
        final: no bytes follow.
    """
    try:
        codecs.utf_8_decode(rest[:4], "strict", final)
    except UnicodeDecodeError:
        return False
    return True
