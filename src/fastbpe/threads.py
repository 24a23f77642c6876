"""One small pool of threads for all tokenizers: made when first needed, forgotten by a forked child."""

from __future__ import annotations

import _thread
import contextlib
import os
from collections.abc import Callable

_MOST_THREADS = 256
_pool: _Pool | None = None


def usable_threads(num_threads: int | None) -> int:
    """How many threads a call may use: what it asks for, or FASTBPE_NUM_THREADS, or one for each usable core."""
    if num_threads is None:
        chosen = os.environ.get("FASTBPE_NUM_THREADS", "")
        if not chosen:
            return usable_cores()
        if not chosen.isdecimal() or not int(chosen):
            raise ValueError(f"FASTBPE_NUM_THREADS={chosen!r}: give 1 or more")
        return int(chosen)
    if num_threads < 1:
        raise ValueError(f"num_threads={num_threads}: give 1 or more, or None")
    return num_threads


def usable_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Pool:
    """Threads that are kept. No lock of Python's is taken here, for an interrupt might leave it taken for ever.

    idle: a token for each thread that waits for work, or soon will. An interrupt can lose one: that thread then
    waits for good, and another takes its place.
    """

    def __init__(self) -> None:
        from queue import SimpleQueue

        self.tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.idle: list[None] = []

    def start(self, work: Callable[[], None]) -> None:
        """Have a thread do it; RuntimeError where no thread can be started."""
        try:
            self.idle.pop()
        except IndexError:
            _thread.start_new_thread(self._serve, ())
        self.tasks.put(work)

    def _serve(self) -> None:
        while True:
            work = self.tasks.get()
            with contextlib.suppress(BaseException):  # what it raises, it has told those who wait for it
                work()
            del work  # and what it holds: the next may be long in coming
            self.idle.append(None)


def start_beside(work: Callable[[], None], n_threads: int) -> int:
    """Run work in so many threads beside the calling one, or in fewer: it must be right with none at all.

    Returns how many were started. Work whose thread did not start may be run later: it must see then that there is
    nothing left to do.
    """
    global _pool
    if _pool is None and n_threads > 0:
        _pool = _Pool()
    n_started = 0
    try:
        while _pool is not None and n_started < min(n_threads, _MOST_THREADS):
            _pool.start(work)
            n_started += 1
    except (RuntimeError, MemoryError):  # the interpreter is shutting down, or may start no more threads
        pass
    return n_started


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
