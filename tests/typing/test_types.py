"""mypy infers the types and reports the mistakes of assertions.py. Skipped where mypy is not installed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSERTIONS = Path(__file__).with_name("assertions.py")
MISSPELT_OPTION = "special_tokenz"


@cache
def reported() -> dict[int, str]:
    """The error codes that mypy reports for the lines of assertions.py, in one run of mypy."""
    api = pytest.importorskip("mypy.api")
    output, problems, _ = api.run(
        [
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--no-error-summary",
            "--show-error-codes",
            str(ASSERTIONS),
        ]
    )
    assert not problems, problems
    found = re.findall(rf"^[^\n]*{ASSERTIONS.name}:(\d+): error: [^\n]*\[([\w-]+)\]$", output, flags=re.MULTILINE)
    assert len(found) == output.count(": error:"), output  # no error elsewhere
    return {int(line): code for line, code in found}


def expected() -> dict[int, str]:
    lines = ASSERTIONS.read_text(encoding="utf-8").splitlines()
    return {
        number: match[1]
        for number, line in enumerate(lines, start=1)
        if (match := re.search(r"# error: ([\w-]+)$", line))
    }


def misspelt_option() -> int:
    lines = ASSERTIONS.read_text(encoding="utf-8").splitlines()
    return 1 + next(i for i, line in enumerate(lines) if MISSPELT_OPTION in line)


@pytest.mark.daily
def test_mypy_reports_the_marked_lines_and_no_others() -> None:
    line = misspelt_option()
    assert {k: v for k, v in reported().items() if k != line} == {k: v for k, v in expected().items() if k != line}


@pytest.mark.daily
def test_misspelt_option_of_train_is_a_type_error() -> None:
    assert reported()[misspelt_option()] == "call-overload"
