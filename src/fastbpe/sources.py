"""Where text comes from: paths of txt and jsonl files, also .gz, or documents as str or bytes."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from fastbpe.errors import FormatError

Document = str | bytes
Path_ = str | os.PathLike[str]
Source = Path_ | Iterable[Path_ | Document]


def documents(source: Source, *, field: str = "text") -> Iterator[Document]:
    """The documents of a source, one after another.

    source: a path; or an iterable of documents (str, bytes) or of paths (os.PathLike; a list or tuple of str
    that all name files counts as paths). A txt file is one document, a jsonl file one a line, under `field`.
    """
    if isinstance(source, (str, os.PathLike)):
        yield from _read(Path(source), field)
        return
    if isinstance(source, bytes):
        raise TypeError("source is bytes: give a path, or a list of documents, e.g. [text]")
    if not isinstance(source, Iterable):
        raise TypeError(f"source must be a path or an iterable of documents, not {type(source).__name__}")
    as_paths = _all_name_files(source)
    for number, item in enumerate(source):
        if isinstance(item, os.PathLike) or as_paths:
            yield from _read(Path(cast(Path_, item)), field)
        elif isinstance(item, (str, bytes)):
            yield item
        else:
            raise TypeError(f"document {number} of the source is {type(item).__name__}, not str or bytes")


def n_bytes(source: Source) -> int | None:
    """The bytes of a source that is made of files, for progress; None where only reading it would tell."""
    if isinstance(source, (str, os.PathLike)):
        source = (source,)
    elif (
        not isinstance(source, (list, tuple))
        or not source
        or (not _all_name_files(source) and not all(isinstance(item, os.PathLike) for item in source))
    ):
        return None
    try:
        return sum(os.path.getsize(cast(Path_, item)) for item in source)
    except OSError:
        return None


def _all_name_files(source: Iterable[object]) -> bool:
    # A list of texts that all happen to be names of files is not worth fearing; a list of names is common.
    return (
        isinstance(source, (list, tuple))
        and bool(source)
        and all(isinstance(item, str) and len(item) < 4096 and _is_file(item) for item in source)
    )


def _is_file(name: str) -> bool:
    try:
        return os.path.isfile(name)
    except ValueError:  # a NUL in the text
        return False


def _read(path: Path, field: str) -> Iterator[Document]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = suffixes[-2:-1] if packed else suffixes[-1:]
    if kind and kind[0] in (".parquet", ".zst", ".bz2", ".xz", ".zip"):
        raise FormatError(f"{path}: {kind[0]} files are not read; unpack it, or give an iterable of documents")
    with cast("IO[bytes]", gzip.open(path, "rb") if packed else open(path, "rb")) as file:
        try:
            if kind == [".jsonl"]:
                yield from _read_jsonl(file, path, field)
            else:
                yield _checked(file.read(), str(path))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(f"{path}: damaged gzip file: {error}; get it again") from None


def _read_jsonl(file: IO[bytes], path: Path, field: str) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)[field]
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path}:{number}: not a line of JSON: {error}") from None
        except (KeyError, TypeError, IndexError):
            raise FormatError(f"{path}:{number}: no object with a field {field!r}") from None
        if not isinstance(text, str):
            raise FormatError(f"{path}:{number}: its field {field!r} is {type(text).__name__}, not a string")
        yield text


def _checked(data: bytes, where: str) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{where}: not UTF-8: invalid byte 0x{data[error.start]:02x} at offset {error.start}; convert it first"
        ) from None
    return data
