"""Every command that CONTRIBUTING prints exists; the quick ones run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
JUSTFILE = (ROOT / "justfile").read_text(encoding="utf-8")
RECIPES = re.findall(r"^(\w[\w-]*)(?: [^:\n]*)?:", JUSTFILE, flags=re.MULTILINE)
PROGRAM = re.compile(r"(python3?|pip|pytest|just|ruff|mypy|git|pre-commit) |\.ci/")


def _commands() -> list[str]:
    """List the lines of CONTRIBUTING's sh blocks, and the code spans that begin with a program."""
    block = re.compile(r"^```sh\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    lines = [line for text in block.findall(TEXT) for line in text.splitlines()]
    lines += [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", block.sub("", TEXT))]
    parts = [part.strip() for line in lines for part in line.split("&&")]
    parts = [re.sub(r"^(?:[A-Z_]+=\S+ )+", "", part) for part in parts]  # without settings of the environment
    return sorted({part for part in parts if PROGRAM.match(part)})


COMMANDS = _commands()


def run(*command: str) -> str:
    """Run a command in the checkout and return what it prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_commands_are_found() -> None:
    assert {"just setup", "pytest tests/unit/core/test_merge.py", ".ci/run"} <= {*COMMANDS}


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("just ")])
def test_just_recipe_exists(command: str) -> None:
    assert command.split()[1] in RECIPES


@pytest.mark.parametrize("command", COMMANDS)
def test_paths_in_commands_exist(command: str) -> None:
    words = [word.split("::")[0] for word in shlex.split(command)]
    for word in words:
        if re.match(r"(tests|tools|benchmarks|src|\.ci)\b|setup\.py$", word):
            assert (ROOT / word).exists(), word


@pytest.mark.daily
@pytest.mark.parametrize("command", [c for c in COMMANDS if re.match(r"pytest .*(::| -k )", c)])
def test_command_for_one_test_selects_tests(command: str) -> None:
    run(sys.executable, "-m", *shlex.split(command), "--collect-only", "-q", "-p", "no:cacheprovider")


def test_benchmark_explains_itself() -> None:
    assert "encode" in run(sys.executable, "benchmarks/compare.py", "--help")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_lint_is_the_one_list_of_checks() -> None:
    checks = run(str(ROOT / ".ci/lint"), "--list").split()
    hooks = re.findall(r"entry: \.ci/lint (\w+)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert hooks
    assert {*hooks} <= {*checks}
    assert re.search(
        r"^lint\(\) \{ \.ci/lint; \}$", (ROOT / ".ci/run").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert re.search(r"^ +\.ci/lint ", JUSTFILE, flags=re.MULTILINE)


@pytest.mark.skipif(shutil.which("just") is None, reason="just is not installed")
def test_just_reads_the_justfile() -> None:
    assert sorted(run("just", "--summary").split()) == sorted(RECIPES)
