"""Wire format of protobuf messages, read and written without the protobuf package.

A message is a sequence of fields. A field is a tag (its number and one of six wire types) and a value. The names
and meanings of fields are left to the callers. Source: "Encoding" in the protobuf documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastbpe._utils.named_tuples import NamedTuple

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)

_WIDTHS = {FIXED64: 8, FIXED32: 4}
_MAX_DEPTH = 100  # groups within groups; the limit of protobuf's own reader
_SHORT, _LONG = 5, 10  # maximum bytes of a varint: tags and lengths have 32 bits, values 64


class Damaged(Exception):
    """Error for bytes that are not a message. at: the offset at which reading failed."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason


class Field(NamedTuple):
    """Field of a message: its value is data[start:end]; tag and value together are data[at:end].

    Attributes:
        number: field number.
        wire: wire type.
        at, start, end: offsets in bytes.
        value: value of a varint, below 2**64; 0 for other wire types.
    """

    number: int
    wire: int
    at: int
    start: int
    end: int
    value: int


def fields(data: bytes | memoryview, at: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message data[at:end].

    >>> [field.number for field in fields(bytes.fromhex("0a026162 1001"), 0, 6)]
    [1, 2]

    Raises:
        Damaged: the bytes are not a message.
    """
    while at < end:
        found = field(data, at, end)
        yield found
        at = found.end


def field(data: bytes | memoryview, at: int, end: int) -> Field:
    """Return the first field of the message data[at:end]. Raises Damaged if it does not begin with one."""
    found = _field(data, at, end, 0)
    if found.wire == END_GROUP:
        raise Damaged(at, f"the end of group {found.number}, which did not begin")
    return found


def _field(data: bytes | memoryview, at: int, end: int, depth: int) -> Field:
    tag, start = _varint(data, at, end, _SHORT)
    number, wire = tag >> 3, tag & 7
    if tag >> 32 or not number:
        raise Damaged(at, f"{number} is not a field number")
    if wire == VARINT:
        value, to = _varint(data, start, end, _LONG)
        return Field(number, wire, at, start, to, value)
    if wire in _WIDTHS:
        to = start + _WIDTHS[wire]
    elif wire == BYTES:
        length, start = _varint(data, start, end, _SHORT)
        to = start + length
    elif wire == GROUP:
        to = _group_end(data, start, end, number, at, depth + 1)
    elif wire == END_GROUP:
        to = start
    else:
        raise Damaged(at, f"{wire} is not a wire type")
    if to > end:
        raise Damaged(at, f"field {number} is said to end at byte {to}, beyond the end at {end}")
    return Field(number, wire, at, start, to, 0)


def _group_end(data: bytes | memoryview, at: int, end: int, number: int, began: int, depth: int) -> int:
    if depth > _MAX_DEPTH:
        raise Damaged(at, f"more than {_MAX_DEPTH} groups within groups")
    while at < end:
        field = _field(data, at, end, depth)
        at = field.end
        if field.wire == END_GROUP and field.number == number:
            return at
        if field.wire == END_GROUP:
            break
    raise Damaged(began, f"group {number} does not end")


def _varint(data: bytes | memoryview, at: int, end: int, max_bytes: int) -> tuple[int, int]:
    """Return (number truncated to 64 bits, offset of its end)."""
    value = 0
    for shift in range(0, 7 * max_bytes, 7):
        if at == end:
            raise Damaged(at, "the data ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise Damaged(at, f"a number of more than {max_bytes} bytes")


def varint(value: int) -> bytes:
    """Return a number as a varint; a negative number in 64-bit two's complement.

    >>> varint(300).hex(), len(varint(-1))
    ('ac02', 10)
    """
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(number: int, value: int) -> bytes:
    """Encode a field whose value is a varint.

    >>> varint_field(40, 0).hex()
    'c00200'
    """
    return varint(number << 3 | VARINT) + varint(value)


def fixed32_field(number: int, value: bytes) -> bytes:
    """Return a field with four bytes, such as a float."""
    return varint(number << 3 | FIXED32) + value


def bytes_field(number: int, value: bytes) -> bytes:
    """Return a field with bytes, text or a message.

    >>> bytes_field(1, b"ab").hex()
    '0a026162'
    """
    return varint(number << 3 | BYTES) + varint(len(value)) + value
