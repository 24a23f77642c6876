"""File locks between processes, and replacement of files that are open elsewhere, on POSIX and Windows.

Windows neither renames nor removes a file that a program has open or mapped. There, a file that will be renamed
cannot be locked directly: its writer locks another file in the same folder.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

msvcrt: Any
try:
    import msvcrt
except ImportError:  # not Windows
    msvcrt = None

# The byte to lock on Windows: no other program can read a locked byte, so it is beyond all content, near the last
# position that `msvcrt.locking` takes (a 32-bit long).
_BYTE = (1 << 31) - 2


def has_locks() -> bool:
    """Tell whether this system has file locks."""
    return fcntl is not None or msvcrt is not None


def keeps_open_files() -> bool:
    """Tell whether this system, Windows, refuses to rename or remove a file that is open."""
    return msvcrt is not None


def lock(file: int) -> None:
    """Lock an open file, until it is closed. On Windows, this moves its position.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: the file system has no locks.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    if msvcrt is None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    os.lseek(file, _BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except PermissionError as error:
        raise BlockingIOError(error.errno, error.strerror) from None


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file, replacing the target.

    Raises:
        PermissionError: the folder is not writable, or (on Windows) a program has the target open or mapped.
    """
    try:
        os.replace(source, target)
    except PermissionError as error:
        if not keeps_open_files() or not os.path.exists(target):
            raise
        message = (
            f"{os.strerror(errno.EACCES)}: Windows cannot replace a file that a program has open or mapped; close "
            "it there (for `open_ids`: drop the StoredIds and its views), then try again"
        )
        raise PermissionError(error.errno, message, os.fspath(target)) from error
