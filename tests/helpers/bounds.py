"""Bounds on what hostile input may cost. They tell a blow-up from none; what is fast, benchmarks say."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The body takes less of the processor's time, in its own thread, however busy the machine is."""
    start = time.thread_time()
    yield
    spent = time.thread_time() - start
    assert spent < seconds, f"{spent:.1f} s of the processor, and not {seconds}"
