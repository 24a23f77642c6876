"""Bounds on processor time for hostile input: wide enough to fail only on a blow-up. Benchmarks measure speed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail if the body takes more processor time of this thread. Other load on the machine does not count."""
    start = time.thread_time()
    yield
    spent = time.thread_time() - start
    assert spent < seconds, f"{spent:.1f} s of the processor, and not {seconds}"
