"""Metadata of a GGUF file: keys with typed values, little-endian, before the tensors.

A file begins with "GGUF", the version (2 or 3), the number of tensors and the number of keys. A string is its
length as uint64 and its bytes. An array is the type of its items, their number as uint64, and the items.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.limits import MAX_FIELDS, check_number
from fastbpe.model import Buffer

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_WRITTEN_VERSION = 3
_ALIGNMENT = 32  # bytes; tensors begin at a multiple of this
_MAX_KEY_BYTES = (1 << 16) - 1  # the format's own limit

_LENGTH = struct.Struct("<Q")  # of a string

# Types of values: number → format of `struct`.
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
UINT8, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9


class Typed(NamedTuple):
    """A typed value to write into a file.

    Attributes:
        type: number of the type; for an array, the type of its items.
        value: int, float, bool or bytes; for an array, a sequence of one of these.
        is_array: whether the value is an array.
    """

    type: int
    value: Any
    is_array: bool = False


def recognise(data: Buffer) -> bool:
    """Tell whether a file begins like a GGUF file of a version below 256, in either byte order."""
    head = bytes(data[:8])
    return head.startswith(MAGIC) and len(head) == 8 and bytes(3) in (head[5:8], head[4:7])


def read(data: Buffer, where: str, prefix: str) -> dict[str, Any]:
    """Read the values of the keys that begin with a prefix, and skip the other keys.

    Returns:
        Key → int, float, bool, bytes, or a list of one of these.

    Raises:
        FormatError: the file is damaged (the message contains the offset), exceeds a limit, or has a version that
            fastbpe does not know.
    """
    return _Reader(data, where).keys(prefix)


class _Reader:
    def __init__(self, data: Buffer, where: str) -> None:
        self._data, self._where, self._at = memoryview(data), where, 0

    def keys(self, prefix: str) -> dict[str, Any]:
        self._take(len(MAGIC))
        version = self._number("I")
        if version not in _VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            kind = "a big-endian file" if swapped in _VERSIONS else f"version {version}"
            raise FormatError(
                f"{self._where}: GGUF: {kind}; fastbpe reads the versions 2 and 3 in little-endian order: convert "
                "the model again"
            )
        self._number("Q")  # number of tensors, not needed
        n_keys = self._number("Q")
        if n_keys > MAX_FIELDS:
            self._fail(f"{n_keys} keys; the limit is {MAX_FIELDS}")
        found: dict[str, Any] = {}
        for _ in range(n_keys):
            raw = bytes(self._string())
            if len(raw) > _MAX_KEY_BYTES:
                self._fail(f"a key of {len(raw)} bytes; the limit is {_MAX_KEY_BYTES}")
            key = raw.decode(errors="replace")
            if key in found:
                self._fail(f"the key {key!r:.80} appears twice")
            kind = self._number("I")
            if key.startswith(prefix):
                found[key] = self._value(kind, key)
            else:
                self._value(kind, key, keep=False)
        return found

    def _fail(self, reason: str) -> NoReturn:
        raise FormatError(f"{self._where}: GGUF: byte {self._at}: {reason}; copy the file again or recreate it")

    def _take(self, n: int) -> memoryview:
        """Return the next n bytes, and advance."""
        at = self._at
        if n > len(self._data) - at:
            self._fail(f"the file ends here, {n - (len(self._data) - at)} bytes too early")
        self._at = at + n
        return self._data[at : at + n]

    def _number(self, format: str) -> Any:
        return struct.unpack("<" + format, self._take(struct.calcsize("<" + format)))[0]

    def _string(self) -> memoryview:
        n: int = self._number("Q")
        return self._take(n)

    def _strings(self, n: int, keep: bool) -> list[bytes] | None:
        """Return the next n strings, as n calls of _string() would, but faster. If not keep, skip them."""
        data, at, n_bytes = self._data, self._at, len(self._data)
        found: list[bytes] = []
        for _ in range(n):
            start = at + _LENGTH.size
            if start > n_bytes or (end := start + _LENGTH.unpack_from(data, at)[0]) > n_bytes:
                self._at = at
                self._string()  # raises
            if keep:
                found.append(data[start:end].tobytes())
            at = end
        self._at = at
        return found if keep else None

    def _value(self, kind: int, key: str, *, keep: bool = True) -> Any:
        if kind == STRING:
            text = self._string()
            return bytes(text) if keep else None
        if kind == ARRAY:
            return self._array(key, keep)
        if kind not in _FORMATS:
            self._fail(f"{key!r:.80} has the unknown type {kind}")
        return self._number(_FORMATS[kind])

    def _array(self, key: str, keep: bool) -> list[Any] | None:
        kind, n = self._number("I"), self._number("Q")
        if kind == STRING:  # limited also if not keep: each string is skipped on its own
            check_number(n, f"{self._where}: GGUF: {key!r:.80}")
            return self._strings(n, keep)
        if kind not in _FORMATS:
            self._fail(f"{key!r:.80} is an array of items of the type {kind}, which fastbpe cannot read")
        format = _FORMATS[kind]
        if keep:
            check_number(n, f"{self._where}: GGUF: {key!r:.80}")
        items = self._take(n * struct.calcsize("<" + format))
        return list(struct.unpack(f"<{n}{format}", items)) if keep else None


def write(values: Mapping[str, Typed]) -> bytes:
    """Return the bytes of a file with these keys and no tensors."""
    parts = [MAGIC, struct.pack("<IQQ", _WRITTEN_VERSION, 0, len(values))]
    for key, (kind, value, is_array) in values.items():
        parts.append(_string_of(key.encode()))
        if is_array:
            parts += [struct.pack("<IIQ", ARRAY, kind, len(value)), _items(kind, value)]
        else:
            parts += [struct.pack("<I", kind), _items(kind, [value])]
    data = b"".join(parts)
    return data + bytes(-len(data) % _ALIGNMENT)


def _items(kind: int, values: Sequence[Any]) -> bytes:
    if kind == STRING:
        return b"".join(map(_string_of, values))
    return struct.pack(f"<{len(values)}{_FORMATS[kind]}", *values)


def _string_of(text: bytes) -> bytes:
    return _LENGTH.pack(len(text)) + text
