"""Run Python in a child process: for hash seeds, spawned workers, and code that might crash."""

import os
import subprocess
import sys
from pathlib import Path

import fastbpe

#: AddressSanitizer is loaded: it has memory of its own, and replaces malloc.
HAS_ASAN = "asan" in os.environ.get("LD_PRELOAD", "")
#: ThreadSanitizer is loaded: a program takes five to fifteen times as long.
HAS_TSAN = "tsan" in os.environ.get("LD_PRELOAD", "")
MAX_SECONDS = 3000 if HAS_TSAN else 300


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Run a program and return its output.

    A crash, an exception or a report of ThreadSanitizer fails the test and shows where, from stderr. A race in a
    worker process is only seen there if nobody reads the exit status of the worker.
    """
    package = str(Path(fastbpe.__file__).parents[1])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    assert "WARNING: ThreadSanitizer" not in done.stderr, done.stderr
    return done.stdout
