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
DOORS = ("fastbpe.tiktoken", "fastbpe.sentencepiece", "fastbpe.tokenizers")  # beside fastbpe itself
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
    modules = [*dict.fromkeys(MODULES.get(name, name) for name in ("fastbpe", *DOORS, *names))]
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
    print("\n| library | import, ms, median | best | processor time, median |\n|---|---:|---:|---:|")
    medians = {}
    for name, taken_by in times.items():
        seconds, cpu = zip(*taken_by, strict=True)
        medians[name] = statistics.median(seconds)
        best, of_cpu = min(seconds), statistics.median(cpu)
        print(f"| {name} | {1e3 * medians[name]:.1f} | {1e3 * best:.1f} | {1e3 * of_cpu:.1f} |")
    if missing := [module for module in modules if module not in chosen]:
        print(f"left out: {', '.join(missing)}: not installed")
    ours = medians["fastbpe"]
    outcome = "met" if ours <= BAR_SECONDS else "missed"
    print(f"fastbpe takes {1e3 * ours:.1f} ms; bar {1e3 * BAR_SECONDS:g} ms: bar {outcome}")
    return [
        {"row": f"import, {name}", "bar": BAR_SECONDS, "seconds": [seconds for seconds, _ in taken_by]}
        for name, taken_by in times.items()
    ]


def _statement(module: str) -> str:
    """Return the import of a module. `import fastbpe` imports next to nothing: each name comes at its first use."""
    return "from fastbpe import Tokenizer, load" if module == "fastbpe" else f"import {module}"


def _times(statement: str, environment: dict[str, str]) -> tuple[float, float]:
    """Return the elapsed and the processor seconds of a statement in a new process."""
    command = [sys.executable, "-c", _TIMED.format(statement)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    elapsed, cpu = map(float, run.stdout.split())
    return elapsed, cpu
