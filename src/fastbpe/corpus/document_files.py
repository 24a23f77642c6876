"""Opening of files of documents: decompressed, with their format recognised."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, cast

from fastbpe._utils.file_statuses import adding_filename
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.optional_imports import require_pyarrow, require_zstandard
from fastbpe.corpus.compression import HEAD_BYTES, MAGIC, ReadAhead, open_unpacked, packing_of
from fastbpe.corpus.document_formats import (
    TABLES,
    check_head,
    check_is_read,
    first_record,
    named,
    recognise,
    table_of,
)
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import field_of
from fastbpe.errors import FormatError


class Content(NamedTuple):
    """Content of an open file.

    Attributes:
        format: "text", "jsonl", "parquet" or "arrow".
        file: the decompressed content, from its beginning; None for a table, which pyarrow opens.
        n_stored: function that returns how many bytes of the stored file were read; 0 if that is not known.
        is_recognised: bool – whether the format was recognised by the first bytes.
        packing: compression of the file, as a suffix such as ".gz"; "": none.
    """

    format: str
    file: ReadAhead | None
    n_stored: Callable[[], int]
    is_recognised: bool
    packing: str = ""


@contextlib.contextmanager
def opened(path: AnyPath | FilePart, format: str | None, field: str) -> Iterator[Content]:
    """Open a file. format: None: by name, or else by content; field: field that contains the text.

    Raises:
        FormatError: its compression or encoding is not supported, or it is damaged.
        ImportError: a package needed to read it is missing.
        OSError: it cannot be opened or read; the error has its name.
    """
    if isinstance(path, FilePart):
        by_name, packing, format = "", "", path.format
    else:
        by_name, packing = named(path)
        check_is_read(path, format or by_name, packing)
    wanted = format or ("" if by_name == "json" else by_name)  # the content of a .json file is checked
    if wanted in TABLES:
        yield Content(wanted, None, lambda: 0, False)
        return
    with (
        adding_filename(path),
        path.open("rb") as stored,
        content_of(stored, path, wanted, by_name, packing, field) as content,
    ):
        yield content


@contextlib.contextmanager
def content_of(
    stored: IO[bytes] | ReadAhead, where: object, wanted: str, by_name: str, packing: str, field: str
) -> Iterator[Content]:
    """Decompress an open file, and recognise its format.

    Args:
        stored: the file, at its beginning; a ReadAhead is not rewound.
        wanted: its format; "": by content.
        by_name: the format that its name shows, for `recognise`; has no effect unless `wanted` is "".
        packing: the compression that its name shows, such as ".gz"; "": it is detected from the content.
    """
    seekable = None if isinstance(stored, ReadAhead) or not stored.seekable() else stored
    source: IO[bytes] | ReadAhead = stored
    if not packing or seekable is None:
        ahead = stored if isinstance(stored, ReadAhead) else ReadAhead(stored)
        head = ahead.head_past(MAGIC)
        packing = packing or packing_of(head)
        source = ahead  # with the first bytes, unless the file can go back to them
        if seekable is not None:
            if not wanted and (table := table_of(head, _tail(seekable))):
                yield Content(table, None, lambda: 0, True)
                return
            seekable.seek(0)
            source = seekable
    with contextlib.ExitStack() as stack:
        if packing == ".zst" and seekable is None:
            source = stack.enter_context(spooled(source))
        file = ReadAhead(stack.enter_context(open_unpacked(source, where, packing)))
        check_head(file, where)
        found = wanted or recognise(file, by_name, field, where)
        yield Content(found, file, _teller(stored), not wanted, packing)


@contextlib.contextmanager
def spooled(stream: Any) -> Iterator[IO[bytes]]:
    """Copy a stream that cannot seek into a temporary file."""
    import shutil  # here: few programs need these
    import tempfile

    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(cast("IO[bytes]", stream), file)
        file.seek(0)
        yield cast("IO[bytes]", file)


def _teller(stored: Any) -> Callable[[], int]:
    """Return a function that tells how many bytes of a stream were read; it returns 0 if it cannot tell."""
    try:
        stored.tell()
    except (AttributeError, OSError):  # a ReadAhead; a pipe
        return lambda: 0
    tell: Callable[[], int] = stored.tell
    return tell


def _tail(stored: IO[bytes]) -> bytes:
    """Return the last HEAD_BYTES bytes of a file that can seek."""
    stored.seek(max(stored.seek(0, 2) - HEAD_BYTES, 0))
    return stored.read(HEAD_BYTES)


def format_and_packing(path: AnyPath, format: str | None, field: str) -> tuple[str, str]:
    """Open a file, and return its format and compression, as in `Content`. Accepts the arguments of `opened`."""
    with opened(path, format, field) as content:
        return content.format, content.packing


def format_of(path: AnyPath, format: str | None, field: str) -> str:
    """Return the format of a file. If neither `format` nor its name shows it, open the file as `opened` does."""
    by_name, _ = named(path)
    if format or by_name not in ("", "json"):
        return format or by_name
    with opened(path, format, field) as content:
        return content.format


def formats_of(paths: Iterable[AnyPath], format: str | None, field: str) -> Iterator[str]:
    """Yield the format of each file; "" for one that reading will refuse."""
    for path in paths:
        try:
            yield format_of(path, format, field)
        except FormatError:
            yield ""


def has_texts(path: AnyPath, field: str) -> bool:
    """Tell whether a .json file consists of JSON lines, and the first line has a text."""
    try:
        with opened(path, None, field) as content:
            if content.format != "jsonl" or content.file is None:
                return False
            record = first_record(content.file)
            return isinstance(record, dict) and isinstance(field_of(record, field), str)
    except FormatError:
        return False


def require_extras(path: AnyPath, format: str | None = None) -> None:
    """Check that the optional packages for reading a file are installed, as far as its name or format shows.

    Raises:
        ImportError: pyarrow or zstandard is missing; the message says what to install.
    """
    by_name, packing = named(path)
    if (kind := format or by_name) in TABLES:
        require_pyarrow(path, kind)
    elif packing == ".zst":
        require_zstandard(path)


def has_size_of_text(path: AnyPath) -> bool:
    """Tell by the name of a file whether the file is as large as its text: neither compressed nor a table."""
    by_name, packing = named(path)
    return by_name not in TABLES and not packing
