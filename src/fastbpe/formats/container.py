"""Container format of fastbpe's own files: a line with the kind of file, a readable header, then tables.

    line 1   "fastbpe KIND v1 header=HHHHHHHH crc=CCCCCCCC", padded to 64 bytes with spaces and a line feed
    header   HHHHHHHH (hexadecimal) bytes of JSON, padded with spaces and a line feed to a multiple of 64
    tables   each at a multiple of 64, little-endian; the header's "sections" has offset
             (from the first table) and size in bytes

The checksum is the CRC-32 of the whole file without the eight digits of the checksum. The file contains no pickle
and no protobuf.
"""

from __future__ import annotations

import re
import zlib

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.byte_order import little_endian
from fastbpe.model import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

_ALIGNMENT = 64  # bytes
_DIGITS = 8  # hexadecimal digits of the checksum
_MAX_HEADER = 1 << 26  # bytes; half a million added tokens take a quarter of it
_MAX_SECTIONS = 64  # no kind has more than eight


class Kind(NamedTuple):
    """Kind of file.

    Attributes:
        name: its name in line 1.
        version: the version to write.
        called: the name of such a file in errors.
        numbers: name of a section of numbers → bytes of a number. The numbers are little-endian in a file, and in
            the order of the processor in memory.
    """

    name: str
    version: int
    called: str
    numbers: Mapping[str, int]

    @property
    def magic(self) -> bytes:
        """Return the bytes with which such files begin."""
        return b"fastbpe %s v" % self.name.encode()


def pack(kind: Kind, header: Mapping[str, Any], parts: Mapping[str, Buffer]) -> list[Buffer]:
    """Return the parts of a file, to be written in order.

    Args:
        header: JSON values without "sections".
        parts: name of a section → its bytes.
    """
    import json  # here, as below: a program that reads no such file does not need it

    numbers = {name: little_endian(parts[name], n) for name, n in kind.numbers.items() if name in parts}
    parts = {**parts, **numbers}
    sections, at = {}, 0
    for name, part in parts.items():
        sections[name] = [at, memoryview(part).nbytes]
        at += _padded(memoryview(part).nbytes)
    text = json.dumps({**header, "sections": sections}, indent=1).encode()
    text = text.ljust(_padded(len(text) + 1) - 1) + b"\n"
    body: list[Buffer] = [text]
    for part in parts.values():
        size = memoryview(part).nbytes
        body += [part, b"\0" * (_padded(size) - size)]
    first = b"%s%d header=%08x crc=" % (kind.magic, kind.version, len(text))
    rest = b"\n".rjust(_ALIGNMENT - len(first) - _DIGITS)
    crc = zlib.crc32(rest, zlib.crc32(first))
    for part in body:
        crc = zlib.crc32(part, crc)
    return [first, b"%08x" % crc, rest, *body]


def unpack(
    kind: Kind, data: Buffer, where: str, required: Mapping[str, Mapping[str, type | tuple[type, ...]]]
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """Check a file and return (header, sections).

    The sections are views of the data, or copies of numbers if the processor is not little-endian.

    required: mode → header key → type of its value; a file with another mode is refused.

    Raises:
        FormatError: the file is of another kind, from a newer fastbpe, damaged or truncated.
    """
    view = memoryview(data)
    header, tables_at = _read_header(kind, view, where)
    if not isinstance(header, dict):
        raise FormatError(f"{where}: its header is {type(header).__name__}, not an object")
    mode = header.get("mode")
    if not isinstance(mode, str):
        raise FormatError(f"{where}: its header has no valid 'mode'")
    if mode not in required:
        raise FormatError(f"{where}: mode {mode!r} is not known to this version of fastbpe; upgrade fastbpe")
    for key, type_ in {**required[mode], "sections": dict}.items():
        if key not in header or not isinstance(header[key], type_):
            raise FormatError(f"{where}: its header has no valid {key!r}")
    patterns = header.get("pattern")  # of a tokenizer or of counts
    if isinstance(patterns, list) and not (patterns and all(isinstance(part, str) for part in patterns)):
        raise FormatError(
            f"{where}: its header has no valid 'pattern': a list must contain at least one regex, and only str"
        )
    sections = _read_sections(header["sections"], view, tables_at, where)
    for name, n_bytes in kind.numbers.items():
        if name in sections:
            sections[name] = memoryview(little_endian(sections[name], n_bytes))
    return header, sections


def check_sections(
    sections: Mapping[str, object], needed: set[str], where: str, also: Collection[str] = ()
) -> None:
    """Raise FormatError unless a file has all the needed sections, and no others except those in `also`."""
    missing, unknown = needed - sections.keys(), sections.keys() - needed - {*also}
    if missing or unknown:
        problem = f"it has no section {min(missing)!r}" if missing else f"its section {min(unknown)!r} is unknown"
        raise FormatError(f"{where}: {problem}")


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _read_header(kind: Kind, view: memoryview, where: str) -> tuple[Any, int]:
    start = bytes(view[:_ALIGNMENT])
    if not start.startswith(kind.magic):
        raise FormatError(f"{where}: not {kind.called}: it does not begin with {kind.magic.decode()!r}")
    version = re.match(rb"[0-9]+", start[len(kind.magic) :])
    if version and int(version.group()) > kind.version:
        raise FormatError(
            f"{where}: file version {version.group().decode()}, written by a newer fastbpe; this one reads up to "
            f"version {kind.version}: upgrade with `pip install -U fastbpe-tokenizer`"
        )
    shape = rb"%s%d header=([0-9a-f]{8}) crc=([0-9a-f]{8}) *\n" % (re.escape(kind.magic), kind.version)
    line = re.fullmatch(shape, start)
    if not line:
        problem = "truncated" if len(start) < _ALIGNMENT else "its first line was altered"
        raise FormatError(f"{where}: damaged: {problem}; copy the file again or recreate it")
    size = int(line.group(1), 16)
    if size > _MAX_HEADER:
        raise FormatError(
            f"{where}: damaged: its header claims to have {size} bytes; the limit is {_MAX_HEADER}; copy the "
            "file again or recreate it"
        )
    if len(view) < _ALIGNMENT + size:
        raise FormatError(
            f"{where}: damaged: truncated within its header, at {len(view)} bytes; "
            "copy the file again or recreate it"
        )
    crc = zlib.crc32(view[line.end(2) :], zlib.crc32(view[: line.start(2)]))
    if crc != int(line.group(2), 16):
        raise FormatError(
            f"{where}: damaged: truncated or altered (the checksum of the file does not match); "
            "copy the file again or recreate it"
        )
    import json

    try:
        return json.loads(bytes(view[_ALIGNMENT : _ALIGNMENT + size])), _ALIGNMENT + size
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: its header is not JSON: {error}") from None


def _read_sections(
    sections: Mapping[str, Any], view: memoryview, tables_at: int, where: str
) -> dict[str, memoryview]:
    if len(sections) > _MAX_SECTIONS:
        raise FormatError(f"{where}: its header names {len(sections)} 'sections': the limit is {_MAX_SECTIONS}")
    out = {}
    for name, place in sections.items():
        match place:
            case [int(offset), int(size)] if offset >= 0 and 0 <= size <= len(view) - tables_at - offset:
                out[name] = view[tables_at + offset : tables_at + offset + size]
            case _:
                raise FormatError(f"{where}: its section {name!r} is not within the file: {place!r}")
    return out
