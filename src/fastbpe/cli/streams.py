"""Bytes in and out, the same in every locale; `-` is standard input."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

STDIN = "-"


def name_of(name: str) -> str:
    """What messages call an input."""
    return "<stdin>" if name == STDIN else name


@contextlib.contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """A file, or standard input, as bytes."""
    if name == STDIN:
        yield _bytes_of(sys.stdin, "standard input")
    else:
        with open(name, "rb") as file:
            yield file


def read(name: str) -> bytes:
    """All bytes of a file or of standard input."""
    with open_input(name) as file:
        return file.read()


def write(data: bytes) -> None:
    """Bytes to standard output."""
    _bytes_of(sys.stdout, "standard output").write(data)


def say(text: str = "") -> None:
    """A line of UTF-8 to standard output; a file name that is not UTF-8 comes out as it came in."""
    write(f"{text}\n".encode(errors="surrogateescape"))


def complain(text: str, kind: str = "error") -> None:
    """One line to standard error."""
    print(f"fastbpe: {kind}: {text}", file=sys.stderr)


def note(text: str) -> None:
    """A line to standard error that is no complaint."""
    print(f"fastbpe: {text}", file=sys.stderr)


def flush() -> None:
    """Send what was written; an error (full disk, closed pipe) shows here rather than at exit."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_stdout() -> None:
    """Let what cannot be written go nowhere, or Python would complain of it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(name: str) -> None:
    """Raise the OSError that writing a file would end in, before hours are spent on what goes into it."""
    path = Path(name)
    if path.is_dir():
        raise _error(errno.EISDIR, path)
    if path.exists() and not path.is_file():  # renaming onto a device would take its place
        raise OSError(errno.EINVAL, "not a regular file; give a path to write to", name)
    if not path.parent.is_dir():
        raise _error(errno.ENOTDIR if path.parent.exists() else errno.ENOENT, path.parent)
    if not os.access(path.parent, os.W_OK):
        raise _error(errno.EACCES, path.parent)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _bytes_of(stream: TextIO | None, what: str) -> BinaryIO:
    if stream is None:
        raise OSError(errno.EBADF, f"{what} is closed")
    return stream.buffer
