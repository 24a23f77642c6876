"""Exit statuses, and errors as one line for a person."""

from __future__ import annotations

import os

from fastbpe.errors import FastbpeError

FAILURE, INTERRUPTED, CLOSED_PIPE = 1, 130, 141  # the last two as a shell reports SIGINT and SIGPIPE

# What a user can mend: no traceback for these. (InvalidTokenError, a KeyError, is a FastbpeError.)
# ImportError: an extra that some files need is not installed.
MENDABLE = (FastbpeError, OSError, ValueError, MemoryError, ImportError)


def describe(error: BaseException) -> str:
    """An error as one line. An OSError names its file first, without the number."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename2 or error.filename  # of a renaming, the place that was meant
        return f"{os.fsdecode(name)}: {error.strerror}" if name else error.strerror
    text = " ".join(str(error).split("\n")).strip()
    return text or ("not enough memory" if isinstance(error, MemoryError) else type(error).__name__)
