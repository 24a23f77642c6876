"""Byte order of numbers: files are little-endian, and tables in memory have the order of the processor."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fastbpe.model import Buffer

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def little_endian(numbers: Buffer, n_bytes: int) -> Buffer:
    """Convert numbers from the order of the processor to little-endian, or back.

    Args:
        numbers: the numbers, integers or floats.
        n_bytes: bytes of a number: 1, 2, 4 or 8.

    Returns:
        `numbers` itself on a little-endian processor; a copy on any other. A damaged file may end within a number:
        the bytes of this number stay as they are.

    >>> little_endian(b"ab", 2) == (b"ab" if sys.byteorder == "little" else b"ba")
    True
    """
    if sys.byteorder == "little":
        return numbers
    from array import array  # here: most processors do not need it

    data = memoryview(numbers).cast("B")
    whole = len(data) - len(data) % n_bytes
    swapped = array(_CODES[n_bytes], bytes(data[:whole]))
    swapped.byteswap()
    return swapped.tobytes() + bytes(data[whole:])
