"""Formats of files of documents, recognised by the file's name or else by its first bytes.

An extension such as .txt, .jsonl or .parquet decides. Any other file, and a .json file, is recognised by its first
bytes: a parquet or Arrow file by its magic number; JSON lines, after decompression, by the first two lines. All
else is text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from fastbpe.corpus.compression import HEAD_BYTES, PACKINGS, ReadAhead
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import KINDS, REFUSED, field_of
from fastbpe.errors import FormatError, OptionError

FORMATS = ("text", "jsonl", "parquet", "arrow")
TABLES = ("parquet", "arrow")
DEFAULT_FIELD = "text"
AS_TEXT = 'format="text" reads it as text'
BOM = b"\xef\xbb\xbf"

_PARQUET_MAGIC = b"PAR1"
_ARROW_MAGIC = b"ARROW1\0\0"  # of an Arrow IPC file
_ARROW_STREAM_MAGIC = b"\xff\xff\xff\xff"  # of the first message of an Arrow IPC stream
#: Bytes at the beginning → encoding. UTF-32 first: its little-endian mark begins with UTF-16's.
_ENCODINGS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
#: Bytes at the beginning → name, of the formats in `REFUSED`.
_OTHER_FILES = {
    b"BZh91AY&SY": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"PK\3\4": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x04\x22\x4d\x18": "lz4",
}
_MARKS = (BOM, *_ENCODINGS, *_OTHER_FILES)
_MAX_LINE_BYTES = 1 << 20  # bytes of the first line that are read to recognise JSON Lines
_MIN_WIDE_CHARACTERS = 8  # characters needed to recognise UTF-16 or UTF-32 without a byte-order mark
_OBJECT = re.compile(rb'\s*\{\s*"(?:[^"\\\x00-\x1f]|\\.)*"\s*:')
_BLANKS = b" \t\r\n"


def check_format(format: object) -> None:
    """Raise ValueError unless a format is None or one of FORMATS."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r}: choose one of {', '.join(map(repr, FORMATS))}")


def check_text_field(text_field: object) -> None:
    """Raise TypeError unless the name of a field is a str."""
    if not isinstance(text_field, str):
        raise TypeError(f"text_field must be str, not {type(text_field).__name__}")


def named(path: AnyPath) -> tuple[str, str]:
    """Return the format that a name shows ("json" for .json, "" for other names), and the compression.

    >>> from pathlib import Path
    >>> named(Path("a.JSONL.gz")), named(Path("a.json.zstd")), named(Path("a.jsonl.txt")), named(Path("a.md"))
    (('jsonl', '.gz'), ('json', '.zst'), ('jsonl', ''), ('', ''))
    >>> named(Path("a.1.txt")), named(Path("a.jsonl.parquet"))
    (('text', ''), ('parquet', ''))
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = PACKINGS[suffixes.pop()] if suffixes and suffixes[-1] in PACKINGS else ""
    by_name = KINDS.get(suffixes[-1], "") if suffixes else ""
    if by_name == "text" and len(suffixes) > 1 and KINDS.get(suffixes[-2]) in ("json", "jsonl"):
        by_name = KINDS[suffixes[-2]]  # a user may have added .txt to the name
    return by_name, packing


def check_is_read(path: AnyPath, format: str, packing: str) -> None:
    """Raise FormatError for a compressed file that fastbpe cannot decompress, or a compressed table."""
    if path.suffix.lower() in REFUSED:
        raise FormatError(
            f"{path}: fastbpe reads no {path.suffix} files; decompress it, or compress it as .gz or .zst"
        )
    if format in TABLES and packing:
        raise FormatError(f"{path}: {format} files have their own compression; decompress this file first")


def check_head(file: ReadAhead, where: object) -> None:
    """Raise FormatError if a stream begins as UTF-16, UTF-32, or a file that fastbpe cannot decompress."""
    head = file.head_past(_MARKS)
    for mark, name in _OTHER_FILES.items():
        if head.startswith(mark):
            raise FormatError(f"{where}: the file format is {name}; decompress it, or compress it as .gz or .zst")
    if encoding := _encoding_of(head):
        raise FormatError(
            f"{where}: it is {encoding}, not UTF-8; convert it first: iconv -f {encoding} -t UTF-8 FILE"
        )


def _encoding_of(head: bytes) -> str | None:
    """Return the encoding of the first bytes if it is UTF-16 or UTF-32, by the mark or the positions of zeros."""
    for mark, name in _ENCODINGS.items():
        if head.startswith(mark):
            return name
    for width in (4, 2):  # of HEAD_BYTES, even if more was read ahead
        units = head[: min(len(head), HEAD_BYTES) // width * width]
        if len(units) >= _MIN_WIDE_CHARACTERS * width:
            for order, low in (("LE", 0), ("BE", width - 1)):  # low: position of the low byte in a character
                if all(units[i::width] == bytes(len(units) // width) for i in range(width) if i != low):
                    # a zero as low byte is U+0000, which text does not have
                    return None if 0 in units[low::width] else f"UTF-{8 * width}{order}"
    return None


def table_of(head: bytes, tail: bytes) -> str:
    """Return "parquet" or "arrow" if a file's first and last bytes say so, else ""."""
    if head.startswith(_PARQUET_MAGIC) and tail.endswith(_PARQUET_MAGIC):
        return "parquet"
    return "arrow" if head.startswith((_ARROW_MAGIC, _ARROW_STREAM_MAGIC)) else ""


def recognise(file: ReadAhead, by_name: str, field: str, where: object) -> str:
    """Return the format of a stream whose name does not show it: "text" or "jsonl".

    It is JSON Lines if the first line is an object with the field, or if the second line also begins an object.
    Of a first line longer than 1 MiB, only the beginning counts. A file with the extension .json is always JSON
    Lines, except if its first line is longer than 1 MiB and begins with a brace, but not with a key after it.

    file: the stream, at its beginning. by_name: "json" if the name ends with .json, otherwise "".

    Raises:
        FormatError: a .json file is an array, or an object that spans several lines.
    """
    head = file.head().removeprefix(BOM)
    while not head.strip(_BLANKS) and len(head) < _MAX_LINE_BYTES:
        n = len(head)
        head = file.more().removeprefix(BOM)
        if len(head) == n:
            return "jsonl" if by_name else "text"
    begin = head.lstrip(_BLANKS)
    if by_name and begin.startswith(b"["):
        raise FormatError(
            f"{where}: one JSON array, not one line per document; write its items as lines (jq -c '.[]' FILE), or "
            + AS_TEXT
        )
    if not begin.startswith(b"{"):
        return "jsonl" if by_name else "text"
    record = first_record(file)  # which reads ahead to the end of the line
    begin = file.head().removeprefix(BOM).lstrip(_BLANKS)
    line, _, rest = begin.partition(b"\n")
    if len(line) >= _MAX_LINE_BYTES:
        return "jsonl" if _OBJECT.match(line) else "text"
    if by_name and _spans_lines(begin):
        raise FormatError(
            f"{where}: a JSON object on several lines, not one line per document; write it as one line "
            f"(jq -c . FILE), or {AS_TEXT}"
        )
    if by_name or (isinstance(record, dict) and (field_of(record, field) is not None)):
        return "jsonl"
    if isinstance(record, dict) and not rest.strip(_BLANKS):
        rest = file.more().removeprefix(BOM).lstrip(_BLANKS).partition(b"\n")[2]
    return "jsonl" if isinstance(record, dict) and rest.lstrip(_BLANKS).startswith(b"{") else "text"


def _spans_lines(begin: bytes) -> bool:
    """Tell whether a text that begins with a brace is an object that continues after its first line."""
    first = begin.partition(b"\n")[0].rstrip(_BLANKS)
    return first.endswith((b"{", b",", b"[", b":"))


def first_record(file: ReadAhead) -> object:
    """Return the first line that is not blank, parsed as JSON; None if it is not JSON or too long."""
    begin = file.head().removeprefix(BOM).lstrip(_BLANKS)
    while b"\n" not in begin and len(begin) < _MAX_LINE_BYTES:
        n = len(begin)
        begin = file.more().removeprefix(BOM).lstrip(_BLANKS)
        if len(begin) == n:
            break
    try:
        return json.loads(begin.partition(b"\n")[0].decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def begins_like_json_lines(head: bytes) -> bool:
    """Tell whether a text begins as a JSON object with a key does: a brace, a string and a colon."""
    return _OBJECT.match(head.removeprefix(BOM)) is not None


def check_effects(formats: Iterable[str], *, format: object, text_field: object, separator: object) -> None:
    """Check that options for reading can have an effect on some file.

    Args:
        formats: format of each file, "texts" for texts not in files, "" for a file that is not readable; an
            iterator is read only as far as needed.
        format, text_field, separator: the options; None, or "text" for text_field: not given.

    Raises:
        OptionError: an option has no effect on these sources.
    """
    given = {
        "format": format,
        "text_field": None if text_field == DEFAULT_FIELD else text_field,
        "separator": separator,
    }
    idle = [name for name, value in given.items() if value is not None]
    found = set()
    for kind in formats if idle else ():
        if not kind:
            return
        found.add(kind)
        if kind != "texts":
            effective = "separator" if kind == "text" else "text_field"
            idle = [name for name in idle if name not in ("format", effective)]
        if not idle:
            break
    if not found or not idle:
        return
    name, value = idle[0], given[idle[0]]
    if found == {"texts"}:
        raise OptionError(
            f"{name}={value!r} has no effect: it is for files, but the source contains texts; leave {name}= out"
        )
    of_what = "JSON lines and tables" if name == "text_field" else "text"
    others = " or ".join(sorted(found))
    way_out = f"leave {name}= out"
    if not found & {*TABLES}:  # a table is never text
        way_out += f', or pass format="{"jsonl" if name == "text_field" else "text"}"'
    raise OptionError(
        f"{name}={value!r} has no effect: it is for {of_what}, but the files are {others}; {way_out}"
    )
