"""Panics of tokenizers in calls that fastbpe makes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastbpe.errors import FastbpeError


class BackendPanic(FastbpeError, RuntimeError):
    """Error for a panic of tokenizers: a fault in its own code, at an input that it cannot handle."""


@contextmanager
def as_errors() -> Iterator[None]:
    """Raise `BackendPanic` for a panic inside the block.

    The exception of tokenizers derives only from BaseException, so it passes every `except Exception` and can end
    a thread or server. A caller's call that fastbpe hands over raises it as without fastbpe, but the calls that
    fastbpe adds (probes, encodings read later) must not.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ != "PanicException":
            raise
        raise BackendPanic(f"tokenizers panicked: {error}") from error
