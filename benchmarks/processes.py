"""Measurements in separate processes: compare.py runs itself with a hidden command that prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(arguments: list[str]) -> dict[str, Any]:
    """Run compare.py with these arguments, and return its last line as JSON, or {"note": reason for a failure}."""
    command = [sys.executable, str(Path(__file__).with_name("compare.py")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"note": f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
