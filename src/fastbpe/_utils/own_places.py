"""Temporary files and folders beside a target. If their writer is killed, the target's next writer removes them.

A name has a hash of the target's name, so that leftovers of other targets stay, and a random number, so that two
writers of one target use different names. A writer holds a lock as long as it lives: a place that another process
can lock has no writer any more. A file is locked itself, a folder by the file "lock" in it.

No writer loses a place that is in use. A process that removes a place first locks it, and then checks that the
locked file is still under its name. The owner does the same before it uses a place, and makes a new place if the
check fails. Without such locks (some file systems, Windows), places have random names too, and are never removed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NAME = r"(\.[0-9a-f]{16}\.)[0-9a-f]{16}\.fastbpe"  # [1]: of the target
_LOCK = "lock"
_PRIVATE = 0o700


@contextlib.contextmanager
def own_file(target: str, mode: int = 0o666) -> Iterator[str]:
    """Remove what killed writers of a target left, and make an empty file beside the target.

    Args:
        target: path of the file to write.
        mode: permissions of the file, without the bits of the umask.

    Returns:
        A context of the path. The file is removed at its end, unless it was renamed.
    """
    remove_leftovers([target])
    while True:
        place = _place_beside(target)
        held = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if _is_locked_as(held, place):
            break
        os.close(held)
    try:
        if fcntl is None:
            os.close(held)  # Windows renames no open file
        yield place
    finally:
        with contextlib.suppress(OSError):
            os.unlink(place)
        if fcntl is not None:
            os.close(held)


@contextlib.contextmanager
def own_folder(target: str) -> Iterator[str]:
    """Remove what killed writers of a target left, and make a folder beside the target.

    Args:
        target: path of the file or folder to write.

    Returns:
        A context of the path. The folder is removed at its end, with all that is in it.
    """
    remove_leftovers([target])
    while True:
        place = _place_beside(target)
        os.mkdir(place, _PRIVATE)
        lock = os.path.join(place, _LOCK)
        try:
            held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # another process removed the folder as a leftover
            continue
        except OSError:
            os.rmdir(place)
            raise
        if _is_locked_as(held, lock):
            break
        os.close(held)
    try:
        if fcntl is None:
            os.close(held)
        yield place
    finally:
        _remove_tree(place, ignore_errors=True)
        if fcntl is not None:
            os.close(held)


def remove_leftovers(targets: Iterable[str | os.PathLike[str]]) -> None:
    """Remove temporary files and folders that killed writers of some targets left, except those in use.

    Args:
        targets: paths of the files that were to be written; they need not exist.
    """
    if fcntl is None:
        return
    beginnings: dict[str, set[str]] = {}
    for path in targets:
        target = os.fspath(path)
        beginnings.setdefault(os.path.dirname(target), set()).add(_beginning(target))
    for folder, wanted in beginnings.items():
        with contextlib.suppress(OSError), os.scandir(folder or os.curdir) as entries:  # no folder: no leftovers
            found = [entry for entry in entries if (name := re.fullmatch(_NAME, entry.name)) and name[1] in wanted]
            for entry in found:
                with contextlib.suppress(OSError):  # in use, of another user, or removed by another process
                    _remove(entry)


def _remove(entry: os.DirEntry[str]) -> None:
    """Remove a temporary file or folder; raise OSError if it is in use."""
    is_folder = entry.is_dir(follow_symlinks=False)
    if not is_folder and not entry.is_file(follow_symlinks=False):
        return
    locked = os.path.join(entry.path, _LOCK) if is_folder else entry.path
    held = os.open(locked, os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if is_folder else 0), 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(held, locked):
            return
        if is_folder:
            for name in os.listdir(entry.path):
                if name != _LOCK:
                    _remove_whole(os.path.join(entry.path, name))
        os.unlink(locked)
        if is_folder:
            os.rmdir(entry.path)
    finally:
        os.close(held)


def _remove_tree(path: str, *, ignore_errors: bool = False) -> None:
    import shutil  # here: it imports bz2, lzma and zlib

    shutil.rmtree(path, ignore_errors=ignore_errors)


def _remove_whole(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        _remove_tree(path)
    else:
        os.unlink(path)


def _is_locked_as(file: int, path: str) -> bool:
    """Lock a file of this process. Returns True if the file is still under its path."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another process took it for a leftover, and is about to remove it
        return False
    except OSError:  # the file system has no locks: nobody removes it
        return True
    return _is_at(file, path)


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _beginning(target: str) -> str:
    """Return the beginning of the names of a target's temporary places, 18 characters."""
    import hashlib  # imported here: the import is slow, and most processes write no file

    return f".{hashlib.sha256(os.fsencode(os.path.basename(target))).hexdigest()[:16]}."


def _place_beside(target: str) -> str:
    return os.path.join(os.path.dirname(target), f"{_beginning(target)}{os.urandom(8).hex()}.fastbpe")
