"""Reading of documents from txt, jsonl and parquet files, also packed as .gz or .zst, and from str or bytes.

`resolve` tells paths from texts and lists the files, once a call; `documents` reads what it found. `read` gives
the documents of one file together with the position to resume from, which `encode_files` needs.
"""

from __future__ import annotations

import codecs
import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from fastbpe._core.text.json_lines import n_lines, texts_of_lines
from fastbpe._core.text.utf8_text import n_valid, to_utf8
from fastbpe._utils.optional_imports import require_pyarrow, require_zstandard
from fastbpe.corpus import compression, parquet
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.remote import AnyPath, RemotePath, as_path
from fastbpe.corpus.source_kinds import KINDS, OTHER_FIELD, REFUSED, Skip, items_of, warn_of_names
from fastbpe.errors import FormatError

Document = str | bytes
Path_ = str | os.PathLike[str]
Source = Path_ | Iterable[Path_ | Document]
#: Function that returns the last safe cut of a text: an offset in bytes where it may be cut without changing ids,
#: or 0. The text is UTF-8 and ends with a whole character.
Cut = Callable[[bytes], int]

BLOCK = 1 << 20  # bytes read at a time; larger blocks are not faster, and several are held at once


class Stretch(NamedTuple):
    """Consecutive documents of a file, or a part of a document that is too long to hold.

    texts: the documents. The first may be the rest of a document that the previous stretch began.
    ends: bool – the last document ends with its text; False: the next stretch has more of it.
    offset: int – position after them: bytes of the unpacked file, or rows of a parquet file.
    number: int – lines or documents of the file that end up to there.
    n_stored: int – bytes of the file (of the packed file, if it is packed) that were read up to there.
    """

    texts: Sequence[Document] | Lines
    ends: bool
    offset: int
    number: int
    n_stored: int


class ResolvedSource(NamedTuple):
    """Source after `resolve`: its files and its documents.

    items: files as Path or RemotePath, and documents as str or bytes, in order; an iterator for a source that is
        one.
    n_bytes: int or None – total size of the files; None: the source is not made of files alone, or only reading
        would tell how much text they hold.
    """

    items: Iterable[AnyPath | Document]
    n_bytes: int | None = None


def resolve(source: Source) -> ResolvedSource:
    """Tell the paths of a source from its texts, and list the files that they name.

    Args:
        source: a path, folder or pattern of paths (see `files_of`), or an iterable of these and of documents;
            `items_of` has the rule that tells which str are paths.

    Raises:
        FileNotFoundError: a path does not exist.
        TrainingError: some str of a list look like paths and some do not, though all name files.
        TypeError: the source is neither a path nor an iterable.
    """
    items, str_are_paths = items_of(source)
    if not str_are_paths:
        warn_of_names(items)
    if isinstance(items, (list, tuple)) and items and all(_is_path(item, str_are_paths) for item in items):
        files = files_of(items)
        return ResolvedSource(files, _total_size(files))
    return ResolvedSource(_files_and_documents(items, str_are_paths))


def _is_path(item: object, str_are_paths: bool) -> bool:
    return isinstance(item, os.PathLike) or (str_are_paths and isinstance(item, str))


def _files_and_documents(items: Iterable[Any], str_are_paths: bool) -> Iterator[AnyPath | Document]:
    """Replace each path by the files that it names, when its turn comes."""
    for number, item in enumerate(items):
        if type(item) is bytes or (type(item) is str and not str_are_paths):  # first: most items, and a fast check
            yield item
        elif _is_path(item, str_are_paths):
            yield from _files_of(item)
        elif isinstance(item, (str, bytes)):
            yield item
        else:
            raise TypeError(f"document {number} of the source is {type(item).__name__}, not str or bytes")


def _total_size(files: Iterable[AnyPath]) -> int | None:
    """Add up the sizes of files; None: one is packed, so that its text is larger, or one is missing."""
    try:
        return None if any(_is_packed(path) for path in files) else sum(path.stat().st_size for path in files)
    except OSError:  # reading the file will raise it
        return None


def documents(
    source: ResolvedSource,
    *,
    field: str = "text",
    separator: str | None = None,
    cut: Cut | None = None,
    skip: Skip | None = None,
    errors: str = "strict",
) -> Iterator[Document]:
    """Read the documents of a source, one after another.

    A txt file is one document, or several that end with a separator; a jsonl file has one in each line, a parquet
    file one in each row. A document of a txt file that is longer than BLOCK comes in several parts.

    Args:
        source: what `resolve` returned.
        field: str – field of a line of jsonl, or column of a parquet file, that holds the text.
        separator: str or None – text after each document of a txt file; None: the file is one document.
        cut: finds the places where a long document is divided into parts; None: it is held whole.
        skip: called with the error of each line or row without text; None: raise the error.
        errors: str – "replace": bytes that are not UTF-8 become U+FFFD. "strict": in a file they are an error;
            documents that are bytes are not checked.

    Raises:
        FormatError: a file cannot be read; the message has line or offset.
        OSError: the system cannot open or read a file.
        TypeError: an item is neither a path nor a document.
    """
    ends = None if separator is None else to_utf8(separator)
    for item in source.items:
        if isinstance(item, (Path, RemotePath)):
            for stretch in read(item, separator=ends, field=field, cut=cut, skip=skip, errors=errors):
                yield from cast("Sequence[Document]", stretch.texts)
        else:
            yield item.decode(errors=errors) if errors != "strict" and isinstance(item, bytes) else item


def files_of(inputs: Path_ | Iterable[Path_]) -> list[AnyPath]:
    """List the files that paths, folders and patterns like "data/*.jsonl" name, in the order given.

    A folder stands for all files below it whose name ends with .txt, .jsonl, .ndjson or .parquet, or with one of
    these and .gz or .zst, sorted by name; hidden files are left out. A pattern (`**` matches any folders) stands
    for the files that match, sorted by name. A path like "s3://bucket/folder/" is remote, see `corpus.remote`.

    Raises:
        FileNotFoundError: a folder holds no such file, or no file matches a pattern.
    """
    if isinstance(inputs, (str, os.PathLike)):
        inputs = (inputs,)
    return [path for item in inputs for path in _files_of(item)]


def _files_of(item: Path_) -> list[AnyPath]:
    path = as_path(item)
    if item == "":  # Path("") is the current folder
        raise FileNotFoundError('"" names no file; give a path, or "." for this folder')
    found: list[AnyPath]
    if path.is_dir():
        found = [
            below
            for below in path.rglob("*")
            if kind_of(below)[0] and below.is_file() and not below.name.startswith(".")
        ]
        if not found:
            raise FileNotFoundError(
                f"{path}: no .txt, .jsonl or .parquet file in this folder; name others by a pattern such as "
                f"'{path}/**/*.py'"
            )
    elif not path.exists() and glob.has_magic(os.fspath(item)):
        if isinstance(path, RemotePath):
            found = [*path.glob_itself()]
        else:
            found = [Path(name) for name in glob.iglob(str(path), recursive=True) if os.path.isfile(name)]
        if not found:
            raise FileNotFoundError(f"{path}: no file matches")
    else:
        return [path]
    return sorted(found, key=lambda path: path.parts)


def read(
    path: AnyPath | FilePart,
    *,
    separator: bytes | None = None,
    field: str = "text",
    cut: Cut | None = None,
    offset: int = 0,
    number: int = 0,
    skip: Skip | None = None,
    errors: str = "strict",
    as_lines: bool = False,
) -> Iterator[Stretch]:
    """Read the documents of a file.

    Args:
        path: the file, or a part of it; its suffixes say what it holds and how it is packed.
        separator: bytes or None – bytes after each document of a txt file, which belong to none of them; b"\\n"
            takes a "\\r" before it along. None: the file is one document.
        field: str – field of a line of jsonl, or column of a parquet file, that holds the text.
        cut: finds the places between the parts of a long document of a txt file; None: it is held whole.
        offset: int – position to start from: `offset` of the last stretch that was read, or 0. With
            errors="replace" it counts the bytes of the replaced text.
        number: int – `number` of that stretch, or 0.
        skip, errors: as for `documents`.
        as_lines: bool – give the lines of jsonl as `Lines`, not parsed yet.

    Raises:
        FormatError: a part of the file is not UTF-8 or not JSON, or the field is missing; the message has file and
            line or offset.
    """
    kind, packing = kind_of(path)
    if path.suffix.lower() in REFUSED:
        raise FormatError(f"{path}: {path.suffix} files are not read; unpack it, or pack it as .gz or .zst")
    if kind == "parquet":
        if packing:
            raise FormatError(f"{path}: a parquet file is compressed inside; unpack it")
        whole, first, last = (path.whole, path.start, path.end) if isinstance(path, FilePart) else (path, 0, None)
        for rows, row, n_read in parquet.read(whole, field, first + offset, skip, last):
            yield Stretch(rows, True, row - first, row - first, n_read)
        return
    if kind != "jsonl" and separator is None and number:
        return  # the one document was read before
    where = cast("AnyPath", path)  # a part has what reading needs of a path
    with compression.open_unpacked(where, packing) as (file, n_stored):
        if errors != "strict" and kind != "jsonl":
            replaced = _ReplacedUtf8(file, errors)
            replaced.skip(offset)
            file = cast("IO[bytes]", replaced)
        else:
            compression.skip(file, offset)
        if kind == "jsonl":
            for block in _whole_lines(file):
                lines = Lines(block, number, where, field, skip, errors)
                offset += len(block)
                number += lines.n
                if parts := lines if as_lines else lines.texts():
                    yield Stretch(parts, True, offset, number, n_stored())
        else:
            yield from _read_text(file, where, separator, cut, n_stored, offset, number)


def read_stream(
    file: IO[bytes],
    where: str,
    *,
    separator: bytes | None = None,
    cut: Cut | None = None,
    errors: str = "strict",
) -> Iterator[Stretch]:
    """Read the documents of a stream of text, as `read` reads a txt file.

    With a separator, each document is given as soon as its end has arrived.

    Args:
        file: the stream.
        where: name of the stream in errors.
        separator, cut, errors: as for `read`.
    """
    stream = cast("IO[bytes]", _AvailableBytes(file)) if separator is not None else file
    if errors != "strict":
        stream = cast("IO[bytes]", _ReplacedUtf8(stream, errors))
    yield from _read_text(stream, Path(where), separator, cut, lambda: 0, 0, 0)


def check_separator(separator: str | None) -> None:
    """Check a separator of documents.

    Raises:
        TypeError: it is neither str nor None.
        ValueError: it is empty.
    """
    if separator is not None and not isinstance(separator, str):
        raise TypeError(f"separator must be str, not {type(separator).__name__}")
    if separator == "":
        raise ValueError('separator="": give what ends a document, or None for whole files')


def require_extras(path: AnyPath) -> None:
    """Check that the optional packages are installed that reading a file needs.

    Raises:
        ImportError: pyarrow or zstandard is missing; the message says what to install.
    """
    kind, packing = kind_of(path)
    if kind == "parquet":
        require_pyarrow(path)
    elif packing == ".zst":
        require_zstandard(path)


def kind_of(path: AnyPath | FilePart) -> tuple[str, str]:
    """Return the kind of a file ("txt", "jsonl", "parquet", or "" for no known suffix) and its packing.

    >>> kind_of(Path("a.JSONL.gz"))
    ('jsonl', '.gz')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in compression.PACKINGS else ""
    return KINDS.get(suffixes[-1] if suffixes else "", ""), packing


def _is_packed(path: AnyPath) -> bool:
    """Tell whether the size of a file is not the size of its text."""
    kind, packing = kind_of(path)
    return kind == "parquet" or packing != ""


def _read_text(
    file: IO[bytes],
    path: AnyPath,
    separator: bytes | None,
    cut: Cut | None,
    n_stored: Callable[[], int],
    offset: int,
    number: int,
) -> Iterator[Stretch]:
    """Read the documents of a txt file or stream.

    Args:
        file: the stream, at `offset`.
        path: the file, for errors.
        separator, cut, number: as for `read`.
        n_stored: returns the bytes of the packed file that were read so far.
        offset: int – position of the stream, in unpacked bytes.
    """
    data = b""
    while True:
        # Double the data each time: a document without a safe cut is then copied and checked twice, not n times.
        block = file.read(max(BLOCK, len(data)))
        data += block
        n_whole = _n_whole(data, path, offset, final=not block)
        stored = n_stored()
        if separator is not None:
            *whole, rest = data.split(separator)
            if whole:
                n_split = len(data) - len(rest)
                offset += n_split
                number += len(whole)
                n_whole -= n_split
                if separator == b"\n" and b"\r" in data:
                    whole = [text.removesuffix(b"\r") for text in whole]
                data = rest
                yield Stretch(whole, True, offset, number, stored)
        if not block:
            if data or separator is None:
                yield Stretch([data], True, offset + len(data), number + 1, stored)
            return
        if cut is not None and len(data) >= BLOCK:
            at = _cut(data if n_whole == len(data) else data[:n_whole], cut, len(separator or b"."))
            if at:
                offset += at
                yield Stretch([data[:at]], False, offset, number, stored)
                data = data[at:]


def _cut(data: bytes, cut: Cut, n_separator: int) -> int:
    """Find the last safe cut before bytes that may begin a separator."""
    at = cut(data)
    while at > max(len(data) - n_separator + 1, 0):
        at = cut(data[:at])
    return at


def _n_whole(data: bytes, path: AnyPath, offset: int, *, final: bool) -> int:
    """Check UTF-8, and return the number of bytes of whole characters.

    Args:
        data: the bytes.
        path: the file, for the error.
        offset: int – position of data in the file, for the error.
        final: bool – no more bytes follow; False: the last character may be incomplete.

    Raises:
        FormatError: a byte is not UTF-8.
    """
    at = n_valid(data)
    try:
        codecs.utf_8_decode(data[at : at + 4], "strict", final)  # an incomplete character is not an error yet
    except UnicodeDecodeError:
        raise FormatError(
            f"{path}: not UTF-8: invalid byte 0x{data[at]:02x} at offset {offset + at}; convert it first"
        ) from None
    return at


class _AvailableBytes:
    """Stream whose reads of up to BLOCK bytes return the bytes that have arrived; larger reads wait for all."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, n: int) -> bytes:
        """Return one byte or more; b"" at the end."""
        data: bytes = self._file.read1(n) if n <= BLOCK else self._file.read(n)
        return data


class _ReplacedUtf8:
    """Stream of UTF-8, made by an error handler of `codecs` from a stream that may hold other bytes."""

    def __init__(self, file: IO[bytes], errors: str) -> None:
        self._file, self._errors = file, errors
        self._rest = b""  # the incomplete character at the end of the last block
        self._ahead = b""  # bytes that were replaced but not given yet

    def skip(self, n: int) -> None:
        """Move n bytes forward."""
        while n and (data := self.read(BLOCK)):
            self._ahead = data[n:]
            n -= min(n, len(data))

    def read(self, n: int) -> bytes:
        """Return one byte or more; b"" at the end."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        text = ""
        while not text:
            block = self._file.read(n)
            data = self._rest + block
            text, n_used = codecs.utf_8_decode(data, self._errors, not block)
            self._rest = data[n_used:]
            if not block:
                break
        return text.encode()


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Read a file in blocks of about BLOCK bytes that end with a line."""
    rest = b""
    while block := file.read(max(BLOCK, len(rest))):
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join((rest, memoryview(block)[:end]))
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


class Lines:
    """Whole lines of JSON, parsed when the caller asks for their texts.

    Args:
        block: bytes – the lines.
        first: int – number of lines of the file before them, for errors.
        path: the file, for errors.
        field: str – name of the field that holds the text.
        skip: called with the error of each line without text; None: raise the error.
        errors: str – handler of bytes that are not UTF-8: "strict" or "replace".

    Attributes:
        n: int – number of lines.
        skip: as for `read`; may be replaced before the lines are parsed.
    """

    def __init__(
        self, block: bytes, first: int, path: AnyPath, field: str, skip: Skip | None = None, errors: str = "strict"
    ) -> None:
        self.block, self.field = block, field
        self.n = n_lines(block)
        self.skip = skip
        self._first, self._path, self._errors = first, path, errors

    def texts(self) -> Sequence[Document]:
        """Parse the lines; blank and skipped ones have no text in the result."""
        texts, others = texts_of_lines(self.block, self.field)
        if not others:
            return cast("Sequence[Document]", texts)
        found: list[Document | None] = list(texts)
        for i, line in others:
            if line.strip():
                found[i] = self._text_or_skip(line, f"{self._path}:{self._first + i + 1}")
        return [text for text in found if text is not None]

    def _text_or_skip(self, line: bytes, where: str) -> str | None:
        try:
            return self._text(line, where)
        except FormatError as error:
            if self.skip is None:
                raise
            self.skip(error)
            return None

    def _text(self, line: bytes, where: str) -> str:
        try:
            record = json.loads(line if self._errors == "strict" else line.decode(errors=self._errors))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where}: not a line of JSON: {error}") from None
        if not isinstance(record, dict) or self.field not in record:
            fields = f"its fields are {', '.join(map(repr, record))}" if isinstance(record, dict) else ""
            raise FormatError(
                f"{where}: no object with a field {self.field!r}; {fields or 'it is not an object'}; {OTHER_FIELD}"
            )
        text = record[self.field]
        if not isinstance(text, str):
            raise FormatError(f"{where}: its field {self.field!r} is {type(text).__name__}, not a string")
        return text
