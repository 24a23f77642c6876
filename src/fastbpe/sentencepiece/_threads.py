"""Threads as sentencepiece counts them."""

from __future__ import annotations

import operator

from fastbpe._utils.threads import usable_threads

_MOST = 1024


def n_threads(num_threads: int) -> int | None:
    """How many threads are meant; None, below zero: one for each core."""
    return None if num_threads < 0 else max(1, min(num_threads, _MOST))


def pool_threads(thread_pool: ThreadPool) -> int:
    """How many threads a pool has."""
    if not isinstance(thread_pool, ThreadPool):
        raise TypeError(f"thread_pool is a ThreadPool, not {type(thread_pool).__name__}")
    return thread_pool.num_threads()


class ThreadPool:
    """So many threads, for `thread_pool=`; below zero: one for each core. fastbpe keeps one pool for all of them.

    >>> ThreadPool(2).num_threads()
    2
    """

    def __init__(self, num_threads: int, /) -> None:
        wanted = n_threads(operator.index(num_threads))
        self._num_threads = usable_threads(None) if wanted is None else wanted

    def num_threads(self) -> int:
        """How many threads these are."""
        return self._num_threads
