"""mypy infers the types and reports the mistakes of assertions.py. Skipped where mypy is not installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSERTIONS = Path(__file__).with_name("assertions.py")


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


@pytest.mark.daily
def test_mypy_reports_the_marked_lines_and_no_others() -> None:
    assert reported() == expected()
