"""Import times of the libraries, in new processes and from bytecode, as for installed packages."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

BAR_SECONDS = 0.040  # maximum median import time of fastbpe
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
    """Time the import of each library, print a table, and return the rows.

    Args:
        names: peers; those that are not installed are left out.
        rounds: number of timed imports of each.
    """
    modules = {name: MODULES[name] for name in names if find_spec(MODULES[name]) is not None}
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        # Write bytecode once, outside the sources, for any setting of the environment.
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
    outcome = "met" if ours <= BAR_SECONDS else "missed"
    print(f"fastbpe takes {1e3 * ours:.1f} ms; bar {1e3 * BAR_SECONDS:g} ms: bar {outcome}")
    return [{"row": f"import, {name}", "bar": BAR_SECONDS, "seconds": of_one} for name, of_one in seconds.items()]


def _seconds(module: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", _TIMED.format(module)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
