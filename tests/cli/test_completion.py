"""fastbpe completion: the scripts complete commands, flags and values in each shell that is installed."""

from __future__ import annotations

import argparse
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fastbpe.cli import command_line
from fastbpe.cli.completion import SHELLS

COMMANDS = [command.__name__.rpartition(".")[2].replace("_", "-") for command in command_line.COMMANDS]
#: Line up to the cursor → words that are offered, and some that are not.
CASES = [
    ("fastbpe enc", {"encode"}, {"decode", "--dtype"}),
    ("fastbpe ", set(COMMANDS), set()),
    ("fastbpe encode --d", {"--dtype", "--document-start", "--document-end"}, {"--lines"}),
    ("fastbpe encode --dtype ", {"uint16", "uint32"}, {"encode", "--lines"}),
    ("fastbpe encode --dtype uint1", {"uint16"}, {"uint32"}),
    ("fastbpe encode -m cl1", {"cl100k_base"}, {"o200k_base"}),
    ("fastbpe train --ties ", {"pair", "first", "huggingface"}, {"train"}),
    ("fastbpe completion ", set(SHELLS), set()),
    ("fastbpe info gpt-4", {"gpt-4", "gpt-4o"}, {"gpt2"}),
    ("fastbpe fetch qw", {"qwen2"}, {"gpt2"}),
    ("fastbpe encode --pattern deepseek", {"deepseek_v3", "deepseek-llm"}, {"gpt2"}),
]


@pytest.fixture
def script(run, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = run("completion", shell)
    assert (done.status, done.err) == (0, "")
    path = tmp_path / f"fastbpe.{shell}"
    path.write_bytes(done.out)
    return path


def output(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def check(offered: set[str], wanted: set[str], unwanted: set[str]) -> None:
    assert wanted <= offered
    assert not unwanted & offered


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("line", "wanted", "unwanted"), CASES)
def test_bash_offers_commands_flags_and_values(script, line, wanted, unwanted) -> None:
    call = f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fastbpe; printf "%s\\n" "${{COMPREPLY[@]}}"'
    words = line.split(" ")
    check(set(output("bash", "-c", call, "bash", *words).split()), wanted, unwanted)


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("line", "wanted", "unwanted"), CASES)
def test_fish_offers_commands_flags_and_values(script, line, wanted, unwanted) -> None:
    said = output("fish", "--no-config", "-c", f'source {script}; complete -C "{line}"')
    check({one.split("\t")[0] for one in said.splitlines()}, wanted, unwanted)


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.sample(3)
@pytest.mark.parametrize(("line", "wanted"), [case[:2] for case in CASES])
def test_zsh_offers_commands_flags_and_values(script, line, wanted, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert wanted <= {*keys_in_zsh(script, f"{line}\t\t", wanted).split()}


def keys_in_zsh(script: Path, keys: str, wanted: set[str]) -> str:
    """Return what an interactive zsh with the script shows after some keys, without codes of the terminal."""
    pty = pytest.importorskip("pty")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "xterm", "COLUMNS": "200"})
    try:
        setup = f"autoload -Uz compinit; compinit -u -D; source {script}; LISTMAX=9999"
        os.write(terminal, f"stty columns 200 rows 500; {setup}; print RE''ADY\n".encode())
        assert "READY" in read_until(terminal, {"READY"})
        os.write(terminal, keys.encode())
        return read_until(terminal, wanted)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def read_until(terminal: int, words: set[str]) -> str:
    """Read until the words have been shown, at most for 30 seconds."""
    read, shown, end = b"", "", time.monotonic() + 30
    while not words <= {*shown.split()} and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            read += os.read(terminal, 1 << 16)
            shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]|\x08|\x07", " ", read.decode(errors="replace"))
    return shown


@pytest.mark.parametrize("shell", SHELLS)
def test_script_names_every_command_and_flag(run, shell) -> None:
    script = run("completion", shell).out.decode()
    (subparsers,) = (
        one for one in command_line.make_parser()._actions if isinstance(one, argparse._SubParsersAction)
    )
    for name, parser in subparsers.choices.items():
        assert name in script
        for action in parser._actions:
            for flag in action.option_strings:
                assert (flag if shell != "fish" else flag.lstrip("-")) in script or flag in ("-h", "--help")


def test_unknown_shell_is_refused_with_the_known_ones(run) -> None:
    done = run("completion", "tcsh")
    assert done.status == 2
    assert all(shell in done.err for shell in SHELLS)
