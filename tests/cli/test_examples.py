"""Examples in the --help of every command, and their output."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli.command_line import COMMANDS

NAMES = [command.__name__.rpartition(".")[2].replace("_", "-") for command in COMMANDS]
ANYTHING = "..."
BASH = shutil.which("bash")


def steps(help_text: str) -> list[tuple[str, str]]:
    """Return (command, output) for each `$ ` line under "example"; the output ends with the indentation."""
    _, _, examples = help_text.partition("\nexample")
    found: list[tuple[str, str]] = []
    for line in examples.splitlines()[1:]:
        if not line.startswith("  "):
            break
        if line.startswith("  $ "):
            found.append((line.removeprefix("  $ "), ""))
        else:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line.removeprefix('  ')}\n")
    return found


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.skipif(BASH is None, reason="the examples are lines for a Unix shell")
@pytest.mark.parametrize("argv", [[], *([name] for name in NAMES)], ids=["fastbpe", *NAMES])
def test_help_examples_give_the_output_they_show(argv, run, tmp_path):
    helped = run(*argv, "--help")
    assert helped.status == 0
    assert helped.out.isascii(), "a terminal of any encoding can show it"
    found = steps(helped.out.decode())
    assert any(f"fastbpe {argv[0] if argv else ''}" in command for command, _ in found)

    # One shell for all lines, as a reader would use; a mark after each line, which no output holds.
    mark = "\x1e"
    script = "".join(f"{command}\nprintf '%s' '{mark}'\n" for command, _ in found)
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [str(BASH), "-c", f"set -e -o pipefail\n{script}"],
        cwd=work,
        env=environment_with_command(tmp_path / "bin"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # as on a terminal
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    outputs = done.stdout.decode().split(mark)[:-1]
    assert len(outputs) == len(found)
    for (command, shown), printed in zip(found, outputs, strict=True):
        if shown.strip() == ANYTHING:
            assert printed, command
        else:
            assert (command, printed) == (command, shown)


def environment_with_command(folder: Path) -> dict[str, str]:
    """Return an environment whose `fastbpe` command is the one under test, installed or not."""
    folder.mkdir()
    command = folder / "fastbpe"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fastbpe "$@"\n')
    command.chmod(0o755)
    package = str(Path(fastbpe.__file__).parents[1])
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
    }
