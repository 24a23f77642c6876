"""Reading and writing of files and standard streams as bytes, in every locale. `-` is standard input."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from fastbpe._utils.file_statuses import adding_filename
from fastbpe.display.visible import visible_text

STDIN = "-"


class ReaderGone(BrokenPipeError):
    """Standard output is a pipe whose reader has gone, such as `head`. Any other BrokenPipeError is a failure."""


def name_of(name: str) -> str:
    """Return the name of an input in messages."""
    return "<stdin>" if name == STDIN else name


@contextlib.contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input, for reading bytes."""
    if name == STDIN:
        stream = _bytes_of(sys.stdin, "standard input")
        if sys.stdin.isatty():
            note(f"reading standard input; {'Ctrl-Z and Enter end' if os.name == 'nt' else 'Ctrl-D ends'} it")
            stream = io.BufferedReader(_EndsOnce(stream))
        yield stream
    else:
        with open(name, "rb") as file:
            yield file


def read(name: str) -> bytes:
    """Read all bytes of a file or of standard input."""
    with adding_filename(name_of(name)), open_input(name) as file:
        return file.read()


def write(data: bytes) -> None:
    """Write bytes to standard output. Raises ReaderGone."""
    try:
        _bytes_of(sys.stdout, "standard output").write(data)
    except BrokenPipeError:
        raise ReaderGone from None


def say(text: str = "") -> None:
    """Write a line of UTF-8 to standard output. The original bytes of a file name that is not Unicode are kept.

    Python stores these names with lone surrogates: on Linux and macOS one for each byte that is not UTF-8; on
    Windows, the name of the file itself contains them.
    """
    write(f"{text}\n".encode(errors=sys.getfilesystemencodeerrors()))


def tell(text: str) -> None:
    """Write a line for people to standard output, with every character visible."""
    say(visible_text(text))


def say_json(found: object, *, indent: int | None = 2) -> None:
    """Write a value as JSON to standard output.

    The output is always UTF-8: other bytes in a file name become escaped lone surrogates, so that Python's json
    reads back the name that `os` returns.
    """
    write(json.dumps(found, indent=indent, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")


def complain(text: str, kind: str = "error") -> None:
    """Write one line about an error or a warning to standard error, with every character visible."""
    note(f"{kind}: {text}")


def note(text: str) -> None:
    """Write one line that begins with the program's name to standard error, with every character visible."""
    tell_result(f"fastbpe: {text}")


def tell_result(text: str) -> None:
    """Write one line to standard error, if it is open, with every character visible."""
    if sys.stderr is not None:  # else print would write to standard output
        with contextlib.suppress(OSError):  # a closed pipe or a full disk: the exit status tells
            print(visible_text(text), file=sys.stderr)


def flush() -> None:
    """Flush standard output, so that an error (full disk, closed pipe) is raised here and not at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None


def abandon_stdout() -> None:
    """Discard output that cannot be written; otherwise Python would report it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(name: str) -> None:
    """Raise the OSError that writing a file would raise, before its content is computed."""
    path = Path(name)
    if path.is_dir():
        raise _error(errno.EISDIR, path)
    if path.exists() and not path.is_file():  # a device or a pipe, which the renamed file would replace
        raise OSError(errno.EINVAL, "not a regular file; pass the path of one", name)
    if not path.parent.is_dir():
        raise _error(errno.ENOTDIR if path.parent.exists() else errno.ENOENT, path.parent)
    if not os.access(path.parent, os.W_OK):
        raise _error(errno.EACCES, path.parent)


class _EndsOnce(io.RawIOBase):
    """Standard input of a terminal that ends at the first Ctrl-D, even if the reader asks for more."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._has_ended = stream, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes into a buffer, and return their number."""
        if self._has_ended:
            return 0
        found = self._stream.read1(len(buffer))  # type: ignore[attr-defined]
        self._has_ended = not found
        buffer[: len(found)] = found
        return len(found)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _bytes_of(stream: TextIO | None, what: str) -> BinaryIO:
    if stream is None:
        raise OSError(errno.EBADF, f"{what} is closed")
    return stream.buffer
