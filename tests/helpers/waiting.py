"""Wait for a condition in another thread or process."""

import time
from collections.abc import Callable

N_LOOKS = 1200  # before a test gives up; counted, since a busy machine may stop the test itself for a while
PAUSE = 0.05  # seconds between two looks


def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail the test if it does not."""
    for _ in range(N_LOOKS):
        if holds():
            return
        time.sleep(PAUSE)
    raise AssertionError("it did not become true")
