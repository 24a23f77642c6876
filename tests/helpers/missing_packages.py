"""Skips tests that need a package that is not installed, if `--skip-missing` asks for it, as for tests of a wheel.

A module of the standard library that a system lacks, such as fcntl on Windows, counts only if a test imports it:
fastbpe itself must do without.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]
_OWN = ("fastbpe", "helpers", "reference")


def skip_collected(report: pytest.CollectReport) -> None:
    """Turn the failure of a file that imports a missing package into a skip."""
    text = str(report.longrepr)
    named = [
        name for name in re.findall(r"ModuleNotFoundError: No module named '(\w+)", text) if _is_missing(name)
    ]
    places = re.findall(r"^(\S+\.py):\d+: in ", text, flags=re.MULTILINE)
    if named and (named[-1] not in sys.stdlib_module_names or (places and _is_test(places[-1]))):
        report.outcome, report.longrepr = "skipped", (report.nodeid, 0, f"Skipped: needs {named[-1]}")


def skip_run(report: pytest.TestReport, found: pytest.ExceptionInfo[BaseException]) -> None:
    """Turn the failure of a test that imports a missing package, or asks fastbpe for it, into a skip."""
    error: BaseException | None = found.value
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__ or error.__context__
    name = ((error.name or "") if isinstance(error, ModuleNotFoundError) else "").partition(".")[0]
    if not isinstance(found.value, ImportError) or not _is_missing(name):
        return
    if name not in sys.stdlib_module_names or _is_test(str(found.traceback[-1].path)):
        report.outcome, report.longrepr = "skipped", (*report.location[:2], f"Skipped: needs {name}")


def _is_missing(name: str) -> bool:
    return bool(name) and name not in _OWN and importlib.util.find_spec(name) is None


def _is_test(path: str) -> bool:
    return Path(path).resolve().is_relative_to(_TESTS)
