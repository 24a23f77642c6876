"""The native file, `.fbpe`: a readable header, then the core's own tables, to be mapped and used as they lie.

    line 1   "fastbpe tokenizer v1 header=HHHHHHHH crc=CCCCCCCC" and a line end: 64 bytes with padding
    header   HHHHHHHH (hexadecimal) bytes of JSON, padded with spaces and a line end to a multiple of 64
    tables   each at a multiple of 64, little-endian; the header's "sections" gives offset and size in bytes

The sections "pieces" and "ranked_pairs", or "pairs" where merges are listed or ids are many, are for looking up.
The checksum is CRC-32 over the whole file with the checksum's own eight digits left out. A file may come without
the look-up tables (a pickle does): they are then built from the tokens. No pickle, no protobuf.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections.abc import Mapping
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.model import BYTES_PER_MERGE, Buffer, Model

MAGIC = b"fastbpe tokenizer v"
VERSION = 1
_ALIGNMENT = 64
_FIRST_LINE = re.compile(rb"fastbpe tokenizer v1 header=([0-9a-f]{8}) crc=([0-9a-f]{8}) {14}\n")
_CRC_AT = slice(41, 49)
_TOKENS = ("token_bytes", "token_ends")
_LOOK_UPS = ("pieces", "pairs", "ranked_pairs")  # of pairs, one of the two
_REQUIRED: Mapping[str, type | tuple[type, ...]] = {
    "mode": str,
    "pattern": (str, list, type(None)),
    "merges_rule": str,
    "whole_piece_first": bool,
    "special_tokens": dict,
    "name": (str, type(None)),
    "fingerprint": str,
    "training": dict,
    "sections": dict,
}


def dump(model: Model, *, look_ups: bool = True) -> bytes:
    """The file's bytes. model.tables holds every table; look_ups=False leaves out those that can be built."""
    assert model.tables is not None
    parts: dict[str, Buffer] = {name: model.tables[name] for name in _TOKENS}
    parts["merges"] = model.merges
    if look_ups:
        parts |= {name: model.tables[name] for name in _LOOK_UPS if name in model.tables}
    sections, at = {}, 0
    for name, part in parts.items():
        sections[name] = [at, len(part)]
        at += _padded(len(part))
    header = {
        "mode": "byte",
        "name": model.name,
        "fingerprint": model.fingerprint,
        "pattern": model.pattern,
        "merges_rule": model.merges_rule,
        "whole_piece_first": model.whole_piece_first,
        "special_tokens": dict(model.special_tokens),
        "training": dict(model.training),
        "sections": sections,
    }
    text = json.dumps(header, indent=1).encode()
    text = text.ljust(_padded(len(text) + 1) - 1) + b"\n"
    body = b"".join([text, *(bytes(part).ljust(_padded(len(part)), b"\0") for part in parts.values())])
    first = b"fastbpe tokenizer v1 header=%08x crc=" % len(text)
    rest = b" " * 14 + b"\n"
    crc = zlib.crc32(body, zlib.crc32(rest, zlib.crc32(first)))
    return b"".join([first, b"%08x" % crc, rest, body])


def parse(data: Buffer, where: str) -> Model:
    """The model in a file's bytes, its tables being views of them. where: what errors call the file."""
    view = memoryview(data)
    header, tables_at = _read_header(view, where)
    sections = _read_sections(header["sections"], view, tables_at, where)
    if header["merges_rule"] == "ranks" and len(sections["merges"]):
        raise FormatError(f"{where}: it has merges that its merges_rule 'ranks' does not use")
    if header["merges_rule"] == "merges" and "ranked_pairs" in sections:
        raise FormatError(f"{where}: it has a section 'ranked_pairs' that its merges_rule 'merges' does not use")
    if len(sections["merges"]) % BYTES_PER_MERGE:
        raise FormatError(f"{where}: its section 'merges' does not hold whole merges")
    return Model(
        tokens=None,
        pattern=header["pattern"],
        special_tokens=header["special_tokens"],
        merges=sections.pop("merges"),
        merges_rule=header["merges_rule"],
        whole_piece_first=header["whole_piece_first"],
        tables=sections,
        name=header["name"],
        fingerprint=header["fingerprint"],
        training=header["training"],
    )


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _read_header(view: memoryview, where: str) -> tuple[dict[str, Any], int]:
    start = bytes(view[:_ALIGNMENT])
    if not start.startswith(MAGIC):
        raise FormatError(f"{where}: not a fastbpe file: it does not begin with {MAGIC.decode()!r}")
    version = re.match(rb"[0-9]+", start[len(MAGIC) :])
    if version and int(version.group()) > VERSION:
        raise FormatError(
            f"{where}: file version {version.group().decode()}, written by a newer fastbpe; this one reads up to "
            f"version {VERSION}: upgrade with `pip install -U fastbpe`"
        )
    line = _FIRST_LINE.fullmatch(start)
    if not line:
        problem = "truncated" if len(start) < _ALIGNMENT else "its first line was altered"
        raise FormatError(f"{where}: damaged: {problem}; get the file again")
    size = int(line.group(1), 16)
    if len(view) < _ALIGNMENT + size:
        raise FormatError(f"{where}: damaged: truncated within its header, at {len(view)} bytes; get it again")
    crc = zlib.crc32(view[_CRC_AT.stop :], zlib.crc32(view[: _CRC_AT.start]))
    if crc != int(line.group(2), 16):
        raise FormatError(f"{where}: damaged: truncated or altered (its checksum does not match); get it again")
    if sys.byteorder != "little":
        raise FormatError(f"{where}: .fbpe files are for little-endian machines; use .tiktoken here")
    try:
        header = json.loads(bytes(view[_ALIGNMENT : _ALIGNMENT + size]))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: its header is not JSON: {error}") from None
    _check_header(header, where)
    return header, _ALIGNMENT + size


def _check_header(header: Any, where: str) -> None:
    if not isinstance(header, dict):
        raise FormatError(f"{where}: its header is {type(header).__name__}, not an object")
    for key, kind in _REQUIRED.items():
        if key not in header or not isinstance(header[key], kind):
            raise FormatError(f"{where}: its header has no valid {key!r}")
    patterns = header["pattern"]
    if isinstance(patterns, list) and not (patterns and all(isinstance(part, str) for part in patterns)):
        raise FormatError(f"{where}: its header has no valid 'pattern': a list must hold regexes, and only them")
    if header["mode"] != "byte":
        raise FormatError(f"{where}: mode {header['mode']!r} is not known to this fastbpe; upgrade it")
    if header["merges_rule"] not in ("ranks", "merges"):
        raise FormatError(f"{where}: merges_rule {header['merges_rule']!r} is not known to this fastbpe")


def _read_sections(
    sections: Mapping[str, Any], view: memoryview, tables_at: int, where: str
) -> dict[str, memoryview]:
    out = {}
    for name, place in sections.items():
        match place:
            case [int(offset), int(size)] if offset >= 0 and 0 <= size <= len(view) - tables_at - offset:
                out[name] = view[tables_at + offset : tables_at + offset + size]
            case _:
                raise FormatError(f"{where}: its section {name!r} lies outside the file: {place!r}")
    missing = {*_TOKENS, "merges"} - out.keys()
    unknown = out.keys() - {*_TOKENS, *_LOOK_UPS, "merges"}
    if missing or unknown:
        problem = f"it has no section {min(missing)!r}" if missing else f"its section {min(unknown)!r} is unknown"
        raise FormatError(f"{where}: {problem}")
    return out
