"""Run Python in a child process: for hash seeds, spawned workers, and code that might crash."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import fastbpe

#: AddressSanitizer is loaded: it has memory of its own, and replaces malloc.
HAS_ASAN = "asan" in os.environ.get("LD_PRELOAD", "")


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Run a program and return its output. A crash or an exception fails the test and shows stderr."""
    package = str(Path(fastbpe.__file__).parents[1])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        # What a shell starts in the background ignores Ctrl-C, and so would what it starts.
        preexec_fn=_heed_interrupts if os.name == "posix" else None,
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    return done.stdout


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
