"""Importing each library, in a fresh process and as an installed package is: compiled to bytecode."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

BAR = 0.040  # seconds
MODULES = {
    "fastbpe": "fastbpe",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "quicktok": "quicktok",
    "splintr": "splintr",
    "rs_bpe": "rs_bpe",
    "kitoken": "kitoken",
    "sentencepiece": "sentencepiece",
}
_TIMED = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"


def compare_imports(names: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """Seconds that importing each library takes, printed as a table and returned as rows."""
    modules = {name: MODULES[name] for name in names if find_spec(MODULES[name]) is not None}
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        # Whatever the environment says: bytecode is written, once, and not beside the sources.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(rounds + 1):
            for name in list(modules) if number % 2 else reversed(modules):
                taken = _seconds(modules[name], environment)
                if number:
                    seconds[name].append(taken)
    print("\n| library | import, ms, median | best |\n|---|---:|---:|")
    for name, of_one in seconds.items():
        print(f"| {name} | {1e3 * statistics.median(of_one):.1f} | {1e3 * min(of_one):.1f} |")
    if missing := [name for name in names if name not in modules]:
        print(f"left out: {', '.join(missing)}: not installed")
    ours = statistics.median(seconds["fastbpe"])
    print(f"fastbpe takes {1e3 * ours:.1f} ms; bar {1e3 * BAR:g} ms: bar {'met' if ours <= BAR else 'missed'}")
    return [{"row": f"import, {name}", "bar": BAR, "seconds": of_one} for name, of_one in seconds.items()]


def _seconds(module: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", _TIMED.format(module)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
