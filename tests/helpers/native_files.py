"""Take native files apart into header and tables, and put them together with a valid checksum."""

from __future__ import annotations

import json
import zlib
from typing import Any


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a file into its header and its tables."""
    size = int(data[28:36], 16)
    return json.loads(data[64 : 64 + size]), data[64 + size :]


def sealed(header: Any, tables: bytes, *, raw: bytes | None = None) -> bytes:
    """Make a file of a header and tables, with a valid checksum. raw: bytes that replace the header's JSON."""
    text = json.dumps(header).encode() if raw is None else raw
    text = text.ljust(-(-(len(text) + 1) // 64) * 64 - 1) + b"\n"
    first, rest = b"fastbpe tokenizer v1 header=%08x crc=" % len(text), b" " * 14 + b"\n"
    crc = zlib.crc32(tables, zlib.crc32(text, zlib.crc32(rest, zlib.crc32(first))))
    return first + b"%08x" % crc + rest + text + tables
