"""Writing of FlatBuffers, byte for byte as Google's C++ library lays them out.

A buffer is filled from its end: an object is written before the table that refers to it. A position is the
distance of an object from the end of the buffer.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence


class Field:
    """A field of a table to write.

    Args:
        number: place of the field in the schema, from 0.
        code: code of its type in `struct`, such as "b" or "i"; "": a reference to a string, vector or table.
        value: the value; for a reference, the position of the object.
    """

    def __init__(self, number: int, code: str, value: float) -> None:
        self.number, self.code, self.value = number, code, value
        self.size = struct.calcsize("<" + (code or "I"))


class Builder:
    """A buffer that is being written. An object that is empty is left out: its position is 0."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # the last part comes first in the buffer
        self._n_bytes = 0
        self._alignment = 1  # bytes; the largest alignment of the objects so far

    def vector(self, code: str, values: Sequence[float]) -> int:
        """Write a vector of scalars and return its position."""
        if not values:
            return 0
        data = struct.pack(f"<{len(values)}{code}", *values)
        return self.byte_vector(data, len(data) // len(values), len(values))

    def byte_vector(self, data: bytes, alignment: int, n: int | None = None) -> int:
        """Write a vector from its bytes and return its position.

        Args:
            data: the bytes of its elements.
            alignment: the alignment of its first element, in bytes.
            n: the number of elements; None: each is a byte.
        """
        if not data:
            return 0
        self._align(max(4, alignment), len(data))  # 4: of the length, which comes before the first element
        self._add(data)
        return self._with_length(len(data) if n is None else n)

    def string(self, text: bytes) -> int:
        """Write a string and return its position."""
        if not text:
            return 0
        self._align(4, len(text) + 1)
        self._add(text + b"\0")
        return self._with_length(len(text))

    def strings(self, texts: Sequence[bytes]) -> int:
        """Write a vector of strings and return its position. Requires: there is one, and none is empty."""
        positions = [self.string(text) for text in texts]
        self._align(4, 4 * len(texts))
        start = self._n_bytes
        total = start + 4 * len(texts)
        # A reference is the distance from itself to its string; reference i has the position total - 4 * i.
        self._add(b"".join(struct.pack("<I", total - 4 * i - at) for i, at in enumerate(positions)))
        return self._with_length(len(texts))

    def table(self, fields: Sequence[Field]) -> int:
        """Write a table with its vtable and return its position. Larger fields follow smaller ones in the file."""
        start, places = self._n_bytes, {}
        for field in sorted(fields, key=lambda field: (-field.size, -field.number)):
            self._align(field.size, 0)
            self._add(struct.pack("<" + field.code, field.value) if field.code else self._distance(field.value))
            places[field.number] = self._n_bytes
        self._align(4, 0)
        at = self._n_bytes + 4
        offsets = [0] * (max(places, default=-1) + 1)
        for number, place in places.items():
            offsets[number] = at - place
        vtable = struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), at - start, *offsets)
        self._add(struct.pack("<i", len(vtable)))  # distance to the vtable, which comes right before the table
        self._add(vtable)
        return at

    def finished(self, root: int) -> bytes:
        """Return the buffer with this root table."""
        self._align(self._alignment, 4)  # a table has at least the alignment 4, so the reference to it has it, too
        self._add(self._distance(root))
        return b"".join(reversed(self._parts))

    def _distance(self, position: float) -> bytes:
        """Return the reference to an object from the 4 bytes that are written next."""
        return struct.pack("<I", self._n_bytes + 4 - int(position))

    def _with_length(self, n: int) -> int:
        """Write a length before its vector or string, and return the position of both."""
        self._add(struct.pack("<I", n))
        return self._n_bytes

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._n_bytes += len(data)

    def _align(self, alignment: int, n_following: int) -> None:
        """Add zeros, so that the position is aligned after this number of further bytes."""
        self._alignment = max(self._alignment, alignment)
        padding = -(self._n_bytes + n_following) % alignment
        if padding:
            self._add(bytes(padding))
