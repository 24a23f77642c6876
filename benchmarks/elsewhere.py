"""Peers of other environments: versions that cannot be installed beside others, or that take another's name.

compare.py runs itself there for fastbpe and one peer, with the same text and vocabulary, and compares ids first,
as always. The peer takes turns with fastbpe in that process: compare only figures within these rows. To add one:

    python -m venv rc && rc/bin/pip install numpy && rc/bin/pip install --pre "tokenizers>=1.0.0rc0"
    python benchmarks/compare.py batch --vocab gpt.json --environment tokenizers_rc=rc/bin/python
    python -m venv fork && fork/bin/pip install gigatoken-cachefix        (its module is called gigatoken, too)
    python benchmarks/compare.py batch --environment gigatoken=fork/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import fastbpe
import peers


class Environment(NamedTuple):
    """A peer in an environment of its own.

    peer: name of its adapter.
    python: the interpreter of the environment.
    """

    peer: str
    python: str


def environment(value: str) -> Environment:
    """Read the value of --environment."""
    peer, sign, python = value.partition("=")
    if not sign or peer not in peers.ENCODERS or not Path(python).is_file():
        raise argparse.ArgumentTypeError(
            f"{value!r}: give PEER=PYTHON: one of {', '.join(peers.ENCODERS)}, and an environment's interpreter"
        )
    return Environment(peer, python)


def rows_of(there: Environment, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the same workload in another environment, print its tables, and return its rows."""
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        record = Path(folder) / "rows.json"
        options = ["vocab", "pattern", "text", "n_bytes", "rounds", "threads"]
        given = [f"--{name.replace('_', '-')}={value}" for name in options if (value := getattr(chosen, name))]
        given += ["--cold"] if getattr(chosen, "cold", False) else []
        done = subprocess.run(
            [
                *(there.python, str(Path(__file__).with_name("compare.py")), chosen.workload, *given),
                *(f"--peers=fastbpe,{there.peer}", f"--json={record}"),
            ],
            env={**os.environ, "PYTHONPATH": str(Path(fastbpe.__file__).parents[1])},
            check=False,
        )
        if done.returncode:
            print(f"left out: {there.peer} of {there.python}: compare.py failed there", file=sys.stderr)
            return []
        found = json.loads(record.read_text(encoding="utf-8"))
    versions = found["run"]["versions"]
    name = peers.distribution(there.peer, versions)
    return [{**row, "row": f"{row['row']} ({name} {versions[name]})"} for row in found["rows"]]
