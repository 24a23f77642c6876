"""Tokenizer files: one module a format, each a translator between bytes and `Model`."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from fastbpe.errors import FormatError
from fastbpe.formats import huggingface, native, tiktoken
from fastbpe.model import Buffer, Model
from fastbpe.patterns import PatternLike

FORMATS = ("native", "tiktoken", "huggingface")


def read(
    source: str | os.PathLike[str] | Buffer,
    *,
    pattern: PatternLike = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Model:
    """The model in a file or in a file's bytes, whatever its format; its contents say which it is."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data, where = _frozen(source), "<bytes>"
    else:
        where = os.fspath(source)
        data = map_file(where)
    if bytes(data[: len(native.MAGIC)]) == native.MAGIC:
        if pattern is not None:
            raise FormatError(f"{where}: holds its own split pattern; load it without pattern=")
        model = native.parse(data, where)
        return model if special_tokens is None else replace(model, special_tokens=special_tokens, fingerprint="")
    if huggingface.recognise(data):
        if pattern is not None:
            raise FormatError(f"{where}: holds what splits text; load it without pattern=")
        return huggingface.parse(data, where, special_tokens=special_tokens)
    if tiktoken.recognise(data) or Path(where).suffix == ".tiktoken":
        return tiktoken.parse(data, where, pattern=pattern, special_tokens=special_tokens)
    raise FormatError(
        f"{where}: no format that fastbpe reads ({', '.join(FORMATS)}): it begins with {bytes(data[:24])!r}"
    )


def _frozen(source: Buffer) -> Buffer:
    return source if isinstance(source, bytes) else bytes(source)


def map_file(path: str | os.PathLike[str]) -> Buffer:
    """A file's bytes, mapped: pages are read when used and shared between processes."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def write(path: str | os.PathLike[str], data: bytes | Sequence[Buffer]) -> None:
    """Write a file whole or not at all; see `write_with`. data: its bytes, or parts of them, one after another."""
    write_with(path, lambda file: file.writelines([data] if isinstance(data, bytes) else data))


def write_with(path: str | os.PathLike[str], fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file whole or not at all: beside its place, then renamed, so no half file is ever seen.

    A link keeps pointing where it did; what is neither file nor absent (a device, a pipe) is written into.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with open(target, "wb") as file:  # of a folder: IsADirectoryError
                fill(file)
            return
        _write_beside(target, fill)
    except OSError as error:
        if error.errno is None:
            raise
        # Name the file that was asked for, not the one beside it.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error


def _write_beside(target: Path, fill: Callable[[IO[bytes]], object]) -> None:
    beside = target.with_name(f".{os.urandom(8).hex()}.fastbpe")
    try:
        with open(beside, "xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
