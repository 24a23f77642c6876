"""Temporary files and folders next to a target. If their writer is killed, the target's next writer removes them.

A temporary file or folder is called a place. Its name has a hash of the target's name, so that leftovers of other
targets are kept, and a random number, so that two writers of one target use different names. A writer holds a lock
as long as it lives: a place that another process can lock has no writer any more. A file is locked directly, a
folder by the file "lock" in it.

No writer loses a place that is in use. A process that removes a place first locks it, and then checks that the
locked file still has its name. The owner does the same before it uses a place, and creates a new place if the
check fails.
Windows cannot rename an open file, so there another file, NAME.lock, is locked instead, and nobody can remove a
locked file. On a file system without locks, places also have random names, but leftovers are never removed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

from fastbpe._utils import file_locks

_NAME = r"(\.[0-9a-f]{16}\.)[0-9a-f]{16}\.fastbpe(?:\.lock)?"  # group 1 depends on the target
_LOCK = "lock"  # in a folder; on Windows also the suffix of the lock file next to a file
_O_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows lacks this flag
_PRIVATE = 0o700


@contextlib.contextmanager
def own_file(target: str, mode: int = 0o666) -> Iterator[str]:
    """Remove leftovers of killed writers of a target, and create an empty file next to the target.

    Args:
        target: path of the file to write.
        mode: permissions of the file, without the bits of the umask.

    Returns:
        A context manager whose value is the path of the new file. The file is removed at the end, unless it was
        renamed.
    """
    remove_leftovers([target])
    while True:
        place = _place_beside(target)
        lock_path = f"{place}.{_LOCK}" if file_locks.keeps_open_files() else place
        lock_fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if _is_locked_as(lock_fd, lock_path):
            break
        os.close(lock_fd)
    try:
        if lock_path != place:
            os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
        yield place
    finally:
        _release(lock_fd, place, lock_path)


@contextlib.contextmanager
def own_folder(target: str) -> Iterator[str]:
    """Remove leftovers of killed writers of a target, and create a folder next to the target.

    Args:
        target: path of the file or folder to write.

    Returns:
        A context manager whose value is the path of the new folder. The folder is removed at the end, with its
        content.
    """
    remove_leftovers([target])
    while True:
        place = _place_beside(target)
        os.mkdir(place, _PRIVATE)
        lock_path = os.path.join(place, _LOCK)
        try:
            lock_fd = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # another process removed the folder as a leftover
            continue
        except OSError:
            os.rmdir(place)
            raise
        if _is_locked_as(lock_fd, lock_path):
            break
        os.close(lock_fd)
    try:
        yield place
    finally:
        if file_locks.keeps_open_files():
            os.close(lock_fd)  # before: Windows cannot remove an open file
        _remove_tree(place, ignore_errors=True)
        if not file_locks.keeps_open_files():
            os.close(lock_fd)  # after: another process could begin to remove the files, too, and fail at some


def remove_leftovers(targets: Iterable[str | os.PathLike[str]]) -> None:
    """Remove temporary files and folders that killed writers of some targets left; keep any that are in use.

    Args:
        targets: paths of the files that were to be written; they need not exist.
    """
    if not file_locks.has_locks():
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
        return  # a link or a pipe, which no writer has created
    lock_path, place = entry.path, entry.path
    if is_folder:
        lock_path = os.path.join(entry.path, _LOCK)
    elif file_locks.keeps_open_files():
        place = entry.path.removesuffix(f".{_LOCK}")
        if place == entry.path:
            return  # its lock is another entry
    # A folder lacks its lock file if its writer was killed, or is still, between creating the two.
    lock_fd = os.open(lock_path, os.O_RDWR | _O_NOFOLLOW | (os.O_CREAT if is_folder else 0), 0o600)
    try:
        file_locks.lock(lock_fd)
        if not _is_at(lock_fd, lock_path):
            os.close(lock_fd)
            return
        if is_folder:
            for name in os.listdir(place):
                if name != _LOCK:
                    _remove_whole(os.path.join(place, name))
    except BaseException:
        os.close(lock_fd)
        raise
    _release(lock_fd, place if not is_folder else lock_path, lock_path)
    if is_folder:
        os.rmdir(place)


def _release(lock_fd: int, place: str, lock_path: str) -> None:
    """Remove a file, if it exists, and its lock file; this releases the lock.

    lock_fd, lock_path: descriptor and path of the lock file.
    place: the file; equals lock_path if the file is its own lock file.
    """
    with contextlib.suppress(OSError):
        if place != lock_path or not file_locks.keeps_open_files():  # else the file is still open here
            os.unlink(place)
    os.close(lock_fd)
    if file_locks.keeps_open_files():
        with contextlib.suppress(OSError):  # another process has found it unlocked, and removes it
            os.unlink(lock_path)


def _remove_tree(path: str, *, ignore_errors: bool = False) -> None:
    import shutil  # here: it imports bz2, lzma and zlib

    shutil.rmtree(path, ignore_errors=ignore_errors)


def _remove_whole(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        _remove_tree(path)
    else:
        os.unlink(path)


def _is_locked_as(file: int, path: str) -> bool:
    """Lock an open file. Returns True if the path still leads to this file."""
    try:
        file_locks.lock(file)
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
    """Return the common prefix (18 characters) of the names of a target's temporary places."""
    import hashlib  # imported here: the import is slow, and most processes write no file

    return f".{hashlib.sha256(os.fsencode(os.path.basename(target))).hexdigest()[:16]}."


def _place_beside(target: str) -> str:
    return os.path.join(os.path.dirname(target), f"{_beginning(target)}{os.urandom(8).hex()}.fastbpe")
