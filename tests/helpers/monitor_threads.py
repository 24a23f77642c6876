"""Threads that bars of progress leave in the process: they must not run while memory is refused."""

from __future__ import annotations

import threading


def stop_monitors() -> None:
    """End the threads with which tqdm watches its bars. The next bar starts another."""
    for thread in threading.enumerate():
        if type(thread).__name__ == "TMonitor":
            thread.exit()  # type: ignore[attr-defined]
