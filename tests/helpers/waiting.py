"""Wait for a condition in another thread or process."""

import time
from collections.abc import Callable

SECONDS = 60  # of patience


def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail the test if it does not."""
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)
