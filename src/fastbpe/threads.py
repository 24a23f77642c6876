"""One small pool of threads for all tokenizers: made when first needed, forgotten by a forked child."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_MOST_THREADS = 256
_pool: ThreadPoolExecutor | None = None


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


def start_beside(work: Callable[[], None], n_threads: int) -> list[Future[None]]:
    """Run work in so many threads beside the calling one, or in fewer: it must be right with none at all.

    Work whose thread did not start may be run later: it must see then that there is nothing left to do.
    """
    global _pool
    if n_threads < 1:
        return []
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        _pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="fastbpe")
    started: list[Future[None]] = []
    try:
        while len(started) < min(n_threads, _MOST_THREADS):
            started.append(_pool.submit(work))
    except (RuntimeError, MemoryError):  # the interpreter is shutting down, or may start no more threads
        pass
    return started


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
