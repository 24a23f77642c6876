"""Errors of the operating system for files: the names of the files, and sentencepiece's statuses."""

from __future__ import annotations

import contextlib
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: The part of absl::ErrnoToStatusCode, which sentencepiece calls, for wrong paths, missing permissions and limits.
_STATUSES = {
    errno.ENOENT: "NOT_FOUND",
    errno.EACCES: "PERMISSION_DENIED",
    errno.EPERM: "PERMISSION_DENIED",
    errno.EROFS: "PERMISSION_DENIED",
    errno.EISDIR: "FAILED_PRECONDITION",
    errno.ENOTDIR: "FAILED_PRECONDITION",
    errno.ENAMETOOLONG: "INVALID_ARGUMENT",
    errno.ENOSPC: "RESOURCE_EXHAUSTED",
    errno.EDQUOT: "RESOURCE_EXHAUSTED",
    errno.EMFILE: "RESOURCE_EXHAUSTED",
    errno.ENFILE: "RESOURCE_EXHAUSTED",
}


def status_of(error: OSError) -> str:
    """Return the status that sentencepiece names for an error of the operating system.

    >>> status_of(PermissionError(errno.EACCES, "Permission denied"))
    'PERMISSION_DENIED'
    """
    return _STATUSES.get(error.errno or 0, "UNKNOWN")


@contextlib.contextmanager
def adding_filename(path: object) -> Iterator[None]:
    """Add a path, or the name of a stream, to an OSError that names no file, such as the error for a bad disk."""
    try:
        yield
    except OSError as error:
        name = os.fspath(path) if isinstance(path, os.PathLike) else str(path)
        if error.errno is None:  # for example s3fs's "Access Denied"; str() would not show it beside a filename
            if os.fsdecode(name) not in str(error):
                error.args = (f"{os.fsdecode(name)}: {error}",)
        elif error.filename is None:
            error.filename = name
        raise
