"""Exit statuses, and errors as one line for a person."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from fastbpe.cli import streams
from fastbpe.errors import FastbpeError

FAILURE, INTERRUPTED, CLOSED_PIPE = 1, 130, 141  # the last two as a shell reports SIGINT and SIGPIPE

# Errors that a user can mend, shown without a traceback. InvalidTokenError, a KeyError, is a FastbpeError.
# ImportError: an optional package that a file needs is not installed.
MENDABLE = (FastbpeError, OSError, ValueError, MemoryError, ImportError)


def describe(error: BaseException) -> str:
    """Return an error as one line. An OSError begins with its file and has no number."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename2 or error.filename  # after a failed renaming, the name that was meant
        return f"{os.fsdecode(name)}: {error.strerror}" if name else error.strerror
    text = " ".join(str(error).split("\n")).strip()
    return text or ("not enough memory" if isinstance(error, MemoryError) else type(error).__name__)


class Complaints:
    """Errors of single files: a command reports each, and goes on with the next file.

    Attributes:
        status: exit status of the command.
    """

    def __init__(self) -> None:
        self.status = 0

    @contextlib.contextmanager
    def reported(self) -> Iterator[None]:
        """Report an error of the body that a user can mend, and end the body."""
        try:
            yield
        except MENDABLE as error:
            streams.complain(describe(error))
            self.status = FAILURE
