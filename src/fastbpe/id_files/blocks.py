"""All ids and offsets of a part, read in blocks."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator

from fastbpe.errors import FormatError
from fastbpe.id_files.parts import OFFSET_BYTES, READABLE, Part

_BLOCK_BYTES = 1 << 22  # bytes of ids read at a time
_OFFSETS_AT_ONCE = 1 << 16


def blocks_of(part: Part) -> Iterator[bytes]:
    """Read the ids of a part in blocks, and check that the file ends after them."""
    left = part.n_ids * READABLE[part.dtype][0]
    with open(part.path, "rb") as file:
        file.seek(part.start)
        while left:
            block = file.read(min(left, _BLOCK_BYTES))
            if not block:
                raise FormatError(f"{part.path}: it became shorter while it was read")
            left -= len(block)
            yield block


def ends_of(part: Part) -> Iterator[array[int]]:
    """Read the ends of a part's documents, and check that they do not fall."""
    if part.offsets is None:
        yield array("q", [part.n_ids])
        return
    with open(part.offsets, "rb") as file:
        file.seek(OFFSET_BYTES)
        before = 0
        while data := file.read(OFFSET_BYTES * _OFFSETS_AT_ONCE):
            ends = array("q", data)
            if sys.byteorder == "big":
                ends.byteswap()
            for end in ends:
                if end < before:
                    raise FormatError(f"{part.offsets}: {end} comes after {before}; encode it again")
                before = end
            yield ends
