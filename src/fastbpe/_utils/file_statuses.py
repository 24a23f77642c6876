"""Statuses of failed reads and writes, for `fastbpe.sentencepiece` and for training."""

from __future__ import annotations

import errno

_STATUSES = {
    errno.ENOENT: "NOT_FOUND",
    errno.EACCES: "PERMISSION_DENIED",
    errno.EPERM: "PERMISSION_DENIED",
    errno.EROFS: "PERMISSION_DENIED",
    errno.EISDIR: "FAILED_PRECONDITION",
    errno.ENOTDIR: "FAILED_PRECONDITION",
    errno.ENAMETOOLONG: "INVALID_ARGUMENT",
    errno.ENOSPC: "RESOURCE_EXHAUSTED",
}


def status_of(error: OSError) -> str:
    """Return the status that sentencepiece names for an error of the operating system.

    >>> status_of(PermissionError(errno.EACCES, "Permission denied"))
    'PERMISSION_DENIED'
    """
    return _STATUSES.get(error.errno or 0, "UNKNOWN")
