"""Thread counts in the forms that sentencepiece accepts."""

from __future__ import annotations

from fastbpe._utils.threads import usable_threads
from fastbpe.sentencepiece._arguments import int32
from fastbpe.sentencepiece._errors import ArgumentTypeError

_MAX_THREADS = 1024  # sentencepiece's limit, up to 32 bits, and for one text any int; fastbpe itself starts fewer


def n_threads(num_threads: int) -> int | None:
    """Return the number of threads, from 1 to 1,024; None (one per usable core) if num_threads is negative."""
    return None if num_threads < 0 else max(1, min(num_threads, _MAX_THREADS))


def pool_threads(thread_pool: ThreadPool) -> int:
    """Return the number of threads of a pool. Raises ArgumentTypeError if it is not a ThreadPool."""
    if not isinstance(thread_pool, ThreadPool):  # sentencepiece raises pybind11's RuntimeError about a failed cast
        raise ArgumentTypeError(f"thread_pool must be a ThreadPool, not {type(thread_pool).__name__}")
    return thread_pool.num_threads()


class ThreadPool:
    """Number of threads, for the argument `thread_pool`; if negative, one per usable core.

    The object has no threads of its own: all calls in a process share fastbpe's threads.

    >>> ThreadPool(2).num_threads()
    2
    """

    def __init__(self, num_threads: int, /) -> None:
        wanted = n_threads(int32("num_threads", num_threads))
        self._num_threads = usable_threads(None) if wanted is None else wanted

    def num_threads(self) -> int:
        """Return the number of threads."""
        return self._num_threads
