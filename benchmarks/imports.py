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

#: Module → bar: maximum of the median processor time of its import, in seconds.
BARS = {
    "fastbpe": 0.020,
    "fastbpe.tiktoken": 0.025,
    "fastbpe.sentencepiece": 0.030,
    "fastbpe.tokenizers": 0.030,
}
#: Names of peers that are not the names of their modules.
MODULES = {"laghu": "laghu_rs", "iree": "iree.tokenizer", "tokenizers_rc": "tokenizers"}
_TIMED = """
import time
begin, begin_cpu = time.perf_counter(), time.process_time()
{}
print(time.perf_counter() - begin, time.process_time() - begin_cpu)
"""


def compare_imports(names: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """Time the import of each library, print a table, and return the rows.

    Args:
        names: peers; those that are not installed are left out.
        rounds: number of timed imports of each.
    """
    modules = [*dict.fromkeys(MODULES.get(name, name) for name in (*BARS, *names))]
    chosen = [module for module in modules if find_spec(module.partition(".")[0]) is not None]
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        # Write bytecode once, outside the sources, for any setting of the environment.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(rounds + 1):
            for name in chosen if number % 2 else reversed(chosen):
                taken = _times(_statement(name), environment)
                if number:
                    times[name].append(taken)
    print("\n| library | import, ms, median | best | processor time, median | bar |\n|---|---:|---:|---:|---:|")
    missed = []
    for name, taken_by in times.items():
        seconds, cpu = zip(*taken_by, strict=True)
        median, of_cpu = statistics.median(seconds), statistics.median(cpu)
        if name in BARS and of_cpu > BARS[name]:
            missed.append(name)
        bar = f"{1e3 * BARS[name]:g}" if name in BARS else "–"
        print(f"| {name} | {1e3 * median:.1f} | {1e3 * min(seconds):.1f} | {1e3 * of_cpu:.1f} | {bar} |")
    if missing := [module for module in modules if module not in chosen]:
        print(f"left out: {', '.join(missing)}: not installed")
    print(f"bars of processor time: {'missed by ' + ', '.join(missed) if missed else 'met'}")
    return [
        {"row": f"import, {name}", "bar": BARS.get(name), "seconds": [seconds for seconds, _ in taken_by]}
        for name, taken_by in times.items()
    ]


def _statement(module: str) -> str:
    """Return the import of a module; of fastbpe, with two names, because `import fastbpe` alone imports little."""
    return "from fastbpe import Tokenizer, load" if module == "fastbpe" else f"import {module}"


def _times(statement: str, environment: dict[str, str]) -> tuple[float, float]:
    """Return the elapsed and the processor seconds of a statement in a new process."""
    command = [sys.executable, "-c", _TIMED.format(statement)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    elapsed, cpu = map(float, run.stdout.split())
    return elapsed, cpu
