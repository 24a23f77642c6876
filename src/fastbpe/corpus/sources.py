"""Where text comes from: txt, jsonl and parquet files, also .gz or .zst, or documents as str or bytes."""

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
from fastbpe.corpus import compression
from fastbpe.corpus.source_kinds import KINDS, REFUSED, items_of, warn_of_names
from fastbpe.errors import FormatError, TrainingError

Document = str | bytes
Path_ = str | os.PathLike[str]
Source = Path_ | Iterable[Path_ | Document]
#: Given whole characters of UTF-8, the last place where the text may be cut in two, or 0.
Cut = Callable[[bytes], int]
Skip = Callable[[FormatError], object]

BLOCK = 1 << 20  # bytes read at a time: enough that a call costs nothing, little enough to hold many
_ROWS = 256  # of a parquet file at a time; a row may be a whole book
_OTHER_FIELD = "name the one that holds the text by text_field= (--text-field)"


class Stretch(NamedTuple):
    """Documents that follow each other, or a part of one that is too long to hold.

    The first text may be the rest of a document. ends: the last document ends with its text. offset: how far
    into the file they go, in bytes as unpacked, or in rows of a parquet file. number: how many lines or documents
    of the file end up to there. n_stored: how many bytes of the file as it is stored were read for them.
    """

    texts: Sequence[Document] | Lines
    ends: bool
    offset: int
    number: int
    n_stored: int


def documents(
    source: Source,
    *,
    field: str = "text",
    separator: str | None = None,
    cut: Cut | None = None,
    skip: Skip | None = None,
    errors: str = "strict",
) -> Iterator[Document]:
    """The documents of a source, one after another; long txt files come in parts, cut at places that `cut` allows.

    source: a path, a folder or a pattern of paths (see `files_of`), or an iterable of these and of documents (str
    or bytes); `items_of` says which str are paths. A txt file is one document, or several that end with a
    separator; a jsonl file has one a line, a parquet file one a row, under `field`.

    skip: told of a line or row that holds no text, which is passed over; None: the error is raised. errors:
    "replace": bytes that are not UTF-8 become U+FFFD; "strict": in files they are an error, and documents that
    are bytes are not looked at.
    """
    items, str_are_paths = items_of(source)
    if not str_are_paths:
        warn_of_names(items)
    ends = None if separator is None else to_utf8(separator)
    for number, item in enumerate(items):
        if isinstance(item, os.PathLike) or (str_are_paths and isinstance(item, str)):
            for path in _files_of(item):
                for stretch in read(path, separator=ends, field=field, cut=cut, skip=skip, errors=errors):
                    yield from cast("Sequence[Document]", stretch.texts)
        elif isinstance(item, (str, bytes)):
            yield item.decode(errors=errors) if errors != "strict" and isinstance(item, bytes) else item
        else:
            raise TypeError(f"document {number} of the source is {type(item).__name__}, not str or bytes")


def n_bytes(source: Source) -> int | None:
    """The bytes of a source that is made of files, for progress; None where only reading it would tell."""
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        return None
    try:
        items, str_are_paths = items_of(source)
        if not items or not all(
            isinstance(i, os.PathLike) or (str_are_paths and isinstance(i, str)) for i in items
        ):
            return None
        files = files_of(cast(Iterable[Path_], items))
        # What gz, zst and parquet files hold, their size does not say.
        return None if any(_is_packed(path) for path in files) else sum(os.path.getsize(path) for path in files)
    except (OSError, FormatError, TrainingError):
        return None


def files_of(inputs: Path_ | Iterable[Path_]) -> list[Path]:
    """The files that paths, folders and patterns like "data/*.jsonl" name, in order.

    Of a folder, all files below it that are named .txt, .jsonl (or .ndjson) or .parquet, also with .gz or .zst, by
    name; of a pattern (`**` is any folders), what matches, by name.

    Raises FileNotFoundError where there is none.
    """
    if isinstance(inputs, (str, os.PathLike)):
        inputs = (inputs,)
    return [path for item in inputs for path in _files_of(item)]


def _files_of(item: Path_) -> list[Path]:
    path = Path(item)
    if item == "":  # which Path takes for the current folder
        raise FileNotFoundError('"" names no file; give a path, or "." for this folder')
    if path.is_dir():
        found = [
            below
            for below in path.rglob("*")
            if _kind(below)[0] and below.is_file() and not below.name.startswith(".")
        ]
        if not found:
            raise FileNotFoundError(f"{path}: no .txt, .jsonl or .parquet file in this folder")
    elif not path.exists() and glob.has_magic(os.fspath(item)):
        found = [path for name in glob.iglob(os.fspath(item), recursive=True) if (path := Path(name)).is_file()]
        if not found:
            raise FileNotFoundError(f"{path}: no file matches")
    else:
        return [path]
    return sorted(found, key=lambda path: path.parts)


def read(
    path: Path,
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
    """The documents of a file, from the offset and number of the stretch that was read last.

    separator: what ends a document of a txt file, and belongs to none; b"\\n" also takes a "\\r" before it; None:
    the file is one document. field: where a line of jsonl or a row of parquet holds its text. cut: where a
    document of a txt file may be cut; None: it is held whole. skip, errors: as for `documents`; with
    errors="replace", offsets are those in what is made of the file. as_lines: texts of jsonl are left in `Lines`.

    Raises FormatError with file and place for what is not UTF-8, not JSON or not there.
    """
    kind, packing = _kind(path)
    if path.suffix.lower() in REFUSED:
        raise FormatError(f"{path}: {path.suffix} files are not read; unpack it, or pack it as .gz or .zst")
    if kind == "parquet":
        if packing:
            raise FormatError(f"{path}: a parquet file is compressed inside; unpack it")
        yield from _read_parquet(path, field, offset, skip)
        return
    if kind != "jsonl" and separator is None and number:
        return  # its one document was read
    with compression.open_unpacked(path, packing) as (file, n_stored):
        compression.skip(file, offset)
        if kind == "jsonl":
            for block in _whole_lines(file):
                lines = Lines(block, number, path, field, skip, errors)
                offset += len(block)
                number += lines.n
                if texts := lines if as_lines else lines.texts():
                    yield Stretch(texts, True, offset, number, n_stored())
        else:
            if errors != "strict":
                file = cast("IO[bytes]", _Mended(file, errors))
            yield from _read_text(file, path, separator, cut, n_stored, offset, number)


def read_stream(
    file: IO[bytes],
    where: str,
    *,
    separator: bytes | None = None,
    cut: Cut | None = None,
    errors: str = "strict",
) -> Iterator[Stretch]:
    """The documents of a stream of text, as `read` gives those of a txt file; where: what errors call it.

    Documents that have ended are given before more is waited for.
    """
    stream = cast("IO[bytes]", _AsItComes(file)) if separator is not None else file
    if errors != "strict":
        stream = cast("IO[bytes]", _Mended(stream, errors))
    yield from _read_text(stream, Path(where), separator, cut, lambda: 0, 0, 0)


def check_separator(separator: str | None) -> None:
    """Raise TypeError or ValueError unless it is text that can end a document, or None."""
    if separator is not None and not isinstance(separator, str):
        raise TypeError(f"separator must be str, not {type(separator).__name__}")
    if separator == "":
        raise ValueError('separator="": give what ends a document, or None for whole files')


def require_extras(path: Path) -> None:
    """Raise an ImportError, which says what to install, where a file cannot be read without it."""
    kind, packing = _kind(path)
    if kind == "parquet":
        require_pyarrow(path)
    elif packing == ".zst":
        require_zstandard(path)


def _kind(path: Path) -> tuple[str, str]:
    """What a file holds ("" if its name does not say) and how it is packed ("" if it is not)."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in compression.PACKINGS else ""
    return KINDS.get(suffixes[-1] if suffixes else "", ""), packing


def _is_packed(path: Path) -> bool:
    kind, packing = _kind(path)
    return kind == "parquet" or packing != ""


def _read_text(
    file: IO[bytes],
    path: Path,
    separator: bytes | None,
    cut: Cut | None,
    n_stored: Callable[[], int],
    offset: int,
    number: int,
) -> Iterator[Stretch]:
    data = b""
    while True:
        # As much again as there is: a document that cannot be cut is copied and checked twice, not n times.
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
    """The last cut in front of what may be the beginning of a separator."""
    at = cut(data)
    while at > max(len(data) - n_separator + 1, 0):
        at = cut(data[:at])
    return at


def _n_whole(data: bytes, path: Path, offset: int, *, final: bool) -> int:
    """How many bytes are whole characters: all if it is final, else perhaps all but the last few. Checks them."""
    at = n_valid(data)
    try:
        codecs.utf_8_decode(data[at : at + 4], "strict", final)  # whether more bytes would make it a character
    except UnicodeDecodeError:
        raise FormatError(
            f"{path}: not UTF-8: invalid byte 0x{data[at]:02x} at offset {offset + at}; convert it first"
        ) from None
    return at


class _AsItComes:
    """A buffered stream that gives what there is, but of a long document no less than was asked for."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, n: int) -> bytes:
        """At least one byte, but at the end."""
        data: bytes = self._file.read1(n) if n <= BLOCK else self._file.read(n)
        return data


class _Mended:
    """A stream whose bytes are UTF-8, whatever those of the other one are."""

    def __init__(self, file: IO[bytes], errors: str) -> None:
        self._file, self._errors = file, errors
        self._rest = b""  # a character that goes on in the next block

    def read(self, n: int) -> bytes:
        """At least one byte, but at the end."""
        mended = ""
        while not mended:
            block = self._file.read(n)
            data = self._rest + block
            mended, n_used = codecs.utf_8_decode(data, self._errors, not block)
            self._rest = data[n_used:]
            if not block:
                break
        return mended.encode()


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """A file in blocks that end where a line does."""
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
    """Whole lines of JSON, and the texts that they hold under a field, which are made when they are asked for.

    first: how many lines of the file come before. Of lines without a text `skip` is told, or the error is raised.
    """

    def __init__(
        self, block: bytes, first: int, path: Path, field: str, skip: Skip | None = None, errors: str = "strict"
    ) -> None:
        self.block, self.field = block, field
        self.n = n_lines(block)
        self._first, self._path, self._skip, self._errors = first, path, skip, errors

    def texts(self) -> Sequence[Document]:
        """The texts, without those of lines that are blank or that are skipped."""
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
            if self._skip is None:
                raise
            self._skip(error)
            return None

    def _text(self, line: bytes, where: str) -> str:
        try:
            record = json.loads(line if self._errors == "strict" else line.decode(errors=self._errors))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where}: not a line of JSON: {error}") from None
        if not isinstance(record, dict) or self.field not in record:
            fields = f"its fields are {', '.join(map(repr, record))}" if isinstance(record, dict) else ""
            raise FormatError(
                f"{where}: no object with a field {self.field!r}; {fields or 'it is no object'}; {_OTHER_FIELD}"
            )
        text = record[self.field]
        if not isinstance(text, str):
            raise FormatError(f"{where}: its field {self.field!r} is {type(text).__name__}, not a string")
        return text


def _read_parquet(path: Path, field: str, first_row: int, skip: Skip | None) -> Iterator[Stretch]:
    pyarrow = require_pyarrow(path)
    size = os.path.getsize(path)
    try:
        # Read as it is used, for a row group may be as large as the file.
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK) as file:
            schema = file.schema_arrow
            if field not in schema.names:
                raise FormatError(
                    f"{path}: no column {field!r}; its columns are {', '.join(map(repr, schema.names))}; "
                    + _OTHER_FIELD
                )
            if schema.names.count(field) > 1:
                raise FormatError(f"{path}: several columns {field!r}; leave one, or rename the others")
            kind = schema.field(field).type
            if str(kind) not in ("string", "large_string", "string_view"):
                raise FormatError(f"{path}: its column {field!r} is {kind}, not string")
            n_rows = file.metadata.num_rows
            row, groups = 0, list(range(file.num_row_groups))
            while groups and row + (n_here := file.metadata.row_group(groups[0]).num_rows) <= first_row:
                row += n_here
                groups.pop(0)
            for batch in file.iter_batches(_ROWS, row_groups=groups, columns=[field]) if groups else ():
                texts = batch.column(field).to_pylist()[max(first_row - row, 0) :]
                row += batch.num_rows
                if None in texts:
                    _tell_nulls(texts, path, row - len(texts), field, skip)
                    texts = [text for text in texts if text is not None]
                if texts:
                    yield Stretch(texts, True, row, row, size * row // n_rows)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: a text near row {row} is not UTF-8: {error}; convert it first") from None
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # the system's, and not pyarrow's of what it has read
            error.filename = error.filename or os.fspath(path)
            raise
        raise FormatError(f"{path}: not a parquet file that can be read: {error}; get it again") from None


def _tell_nulls(texts: Sequence[str | None], path: Path, first_row: int, field: str, skip: Skip | None) -> None:
    for row, text in enumerate(texts, first_row):
        if text is None:
            null = FormatError(f"{path}: row {row}: its {field!r} is null, not a string")
            if skip is None:
                raise null
            skip(null)
