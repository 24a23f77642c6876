"""Memory-mapped files for reading, and atomic writing of files."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from functools import partial
from operator import methodcaller

from fastbpe._utils import file_locks
from fastbpe._utils.file_statuses import adding_filename
from fastbpe._utils.own_places import own_file
from fastbpe.errors import FormatError
from fastbpe.model import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO


def map_file(path: str | os.PathLike[str]) -> Buffer:
    """Map a file for reading. Processes share its pages, which are loaded when used.

    Windows cannot replace a mapped file; there it is read whole, so that a tokenizer can be saved over its own
    file. A pipe, whose size is 0, is read whole, too.
    """
    with adding_filename(path), open(path, "rb") as file:
        if file_locks.keeps_open_files() or os.fstat(file.fileno()).st_size == 0:
            return file.read()
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def write(path: str | os.PathLike[str], data: bytes | Sequence[Buffer]) -> None:
    """Write a file atomically, as `write_with` does. data: its bytes, or parts of them in order."""
    write_with(path, lambda file: file.writelines([data] if isinstance(data, bytes) else data))


def write_with(path: str | os.PathLike[str], fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file atomically: a failure leaves no partial file.

    The bytes go into a temporary file in the same folder, which is then renamed, so that no reader sees half a
    file. If the process is killed, the next call for the same path removes the temporary file. For a link, its
    target is replaced. A device or pipe is written to directly.

    fill: function that writes the bytes into an open file.

    Raises:
        PermissionError: the folder or the existing file is read-only.
        FileNotFoundError: the folder does not exist; the error names the folder.
        OSError: the file cannot be written for another reason. These errors name `path`.
    """
    target = os.path.realpath(path)
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe under /dev has no real path
            with open(path, "wb") as file:  # raises IsADirectoryError for a folder
                fill(file)
            return
        _check_writable(target)
        _write_beside(target, fill)
    except OSError as error:
        if error.errno is None:  # from `fill`, not from the system: pyarrow raises such errors
            raise
        check_parent(path)
        # Name the file that was asked for, not the temporary one next to it.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error


def write_folder(path: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write files into a folder: all of them, or none. The folder is created if it does not exist.

    Each file is written under a temporary name, then all are renamed. If renaming fails, the old files are
    restored.

    files: name → bytes.

    Raises:
        OSError: a file cannot be written; the error names the folder.
    """
    folder = os.fspath(path)
    is_new = not os.path.isdir(folder)
    if is_new:
        check_parent(path)
        os.mkdir(folder)
    try:
        _write_all({os.path.realpath(os.path.join(folder, name)): data for name, data in files.items()})
    except BaseException as error:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, error.strerror, folder) from error
        raise


def check_parent(path: str | os.PathLike[str]) -> None:
    """Raise FileNotFoundError, with the name of the missing folder, unless the folder of a new file exists."""
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.exists(parent):
        problem = f"{os.strerror(errno.ENOENT)}: there is no folder {os.fsdecode(parent)}; create it first"
        if "://" in os.fsdecode(path):
            problem = "addresses are not supported here: write to a folder on this machine, then upload the file"
        raise FileNotFoundError(errno.ENOENT, problem, os.fspath(path))


def _check_writable(target: str) -> None:
    """Raise OSError if the target exists and this user may not write it: renaming would replace it."""
    if os.path.exists(target) and not os.access(target, os.W_OK):
        os.close(os.open(target, os.O_WRONLY))  # raises the system's error: EACCES, or EROFS for a read-only disk


def _write_all(files: Mapping[str, bytes]) -> None:
    """Write all files, or restore the old ones. files: path → bytes."""
    import shutil  # here: reading does not need it

    for target in files:
        _check_writable(target)
    undo: list[Callable[[], object]] = []
    with contextlib.ExitStack() as temporary_files:  # removes those that were not renamed
        try:
            new: dict[str, str] = {}  # path → temporary file with the new bytes
            old: dict[str, str] = {}  # path → temporary copy of the old file, if there was one
            for target, data in files.items():
                new[target] = temporary_files.enter_context(own_file(target))
                _fill(new[target], methodcaller("write", data))
                if os.path.isfile(target):
                    old[target] = temporary_files.enter_context(own_file(target))
                    shutil.copyfile(target, old[target])
            for target in files:
                file_locks.replace(new[target], target)
                undo.append(
                    partial(file_locks.replace, old[target], target)
                    if target in old
                    else partial(os.unlink, target)
                )
        except BaseException:
            for step in reversed(undo):
                with contextlib.suppress(OSError):
                    step()
            raise


def _write_beside(target: str, fill: Callable[[IO[bytes]], object]) -> None:
    with own_file(target) as temporary:
        _fill(temporary, fill)
        file_locks.replace(temporary, target)


def _fill(path: str, fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file, and wait until it is on the disk."""
    with open(path, "wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())


def as_text(data: Buffer, where: str) -> str:
    """Decode a whole file. Raises FormatError if it is not UTF-8."""
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{where}: not UTF-8: invalid byte 0x{error.object[error.start]:02x} at offset {error.start}; copy "
            "the file again or recreate it"
        ) from None
