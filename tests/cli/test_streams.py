"""Standard streams that are closed, or whose reader has gone, under every command."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import main, streams
from fastbpe.cli.command_line import COMMANDS

WRITING = {
    "demo": "demo --text text.txt --vocab-size 260 --output d.fbpe",
    "train": "train text.txt -o t.fbpe --vocab-size 260 --json",
    "encode": "encode -m m.fbpe text.txt",
    "decode": "decode -m m.fbpe ids.txt",
    "decode stored": "decode -m m.fbpe i.bin",
    "count": "count -m m.fbpe text.txt",
    "count-pieces": "count-pieces text.txt -o t.pieces --json",
    "merge": "merge i.bin -o j.npy --json",
    "show": "show -m m.fbpe text.txt",
    "show json": "show -m m.fbpe text.txt --json",
    "compare": "compare -m m.fbpe text.txt",
    "compare csv": "compare -m m.fbpe text.txt --csv",
    "vocab": "vocab -m m.fbpe",
    "vocab tree": "vocab -m m.fbpe --tree low",
    "vocab report": "vocab -m m.fbpe --report",
    "web": "web --no-browser",
    "info": "info m.fbpe",
    "convert": "convert m.fbpe m.tiktoken --json",
    "verify": "verify i.bin m.fbpe",
    "fetch": "fetch gpt2",
    "completion": "completion bash",
}
NEED_WEB = ("web",)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    (tmp_path / "text.txt").write_text("low lower lowest\n" * 9)
    (tmp_path / "ids.txt").write_text("97 98")
    tokenizer = fastbpe.train(["low lower lowest\n" * 9], vocab_size=260, pattern="gpt2", progress=False)
    tokenizer.save("m.fbpe")
    tokenizer.encode_files("text.txt", "i.bin", progress=False)
    return tmp_path


def test_every_command_is_tried() -> None:
    names = {command.__name__.rpartition(".")[2].replace("_", "-") for command in COMMANDS}
    assert {name.split()[0] for name in WRITING} == names


def skip_unless_possible(name: str) -> None:
    if name in NEED_WEB:
        pytest.importorskip("uvicorn", reason="needs the extra web")


@pytest.mark.parametrize("name", WRITING)
def test_closed_standard_output_is_an_error_of_one_line(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    skip_unless_possible(name)
    monkeypatch.setattr(sys, "stdout", None)
    assert main(WRITING[name].split()) == 1
    said = capfd.readouterr().err
    if name != "fetch":  # it fails first: nothing is downloaded
        assert said == "fastbpe: error: standard output is closed\n"


@pytest.mark.parametrize("name", [name for name in WRITING if name not in ("web", "fetch")])
def test_closed_pipe_ends_every_command_quietly(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="ascii") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(WRITING[name].split()) == 141
        monkeypatch.undo()
    assert capfd.readouterr().err == ""


def test_broken_pipe_other_than_standard_output_is_an_error(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def lose_connection(name: str) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe", name)

    monkeypatch.setattr("fastbpe.cli.info.load_any", lambda args: lose_connection(args.model))
    assert main(["info", "m.fbpe"]) == 1
    assert capfd.readouterr().err == "fastbpe: error: m.fbpe: Broken pipe\n"


@pytest.mark.parametrize("name", WRITING)
def test_errors_never_go_to_standard_output(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Python's print writes to standard output if standard error is closed."""
    skip_unless_possible(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    monkeypatch.setattr(sys, "stderr", None)
    words = WRITING[name].split()
    if name == "web":
        words += ["-m", "none"]
    if name == "completion":
        return
    assert main(words) == 1
    assert capfd.readouterr().out == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_under_standard_error_changes_no_status(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    full = open("/dev/full", "w", buffering=1, encoding="ascii")  # noqa: SIM115 – closing it fails
    monkeypatch.setattr(sys, "stderr", full)
    assert main(["verify", "none", "m.fbpe"]) == 1
    monkeypatch.undo()
    with contextlib.suppress(OSError):
        full.close()
    assert capfd.readouterr().out == "m.fbpe: a vocabulary of 260 ids\n", "the other paths are verified"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "argv",
    ["", "--help", "help", "--version", "train --help", *(WRITING[name] for name in WRITING if name != "web")],
)
def test_full_disk_under_standard_output_is_an_error_of_one_line(
    argv: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/full", "w", encoding="ascii") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(argv.split()) == 1
        monkeypatch.undo()
    if not argv.startswith("fetch"):  # it fails first: nothing is downloaded
        assert capfd.readouterr().err == "fastbpe: error: No space left on device\n"


@pytest.mark.parametrize("argv", ["", "--help", "--version", "train --help"])
def test_help_is_an_error_or_quiet_without_a_reader(
    argv: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(argv.split()) == 1
    assert capfd.readouterr().err == "fastbpe: error: standard output is closed\n"
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="ascii") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(argv.split()) == 141
        monkeypatch.undo()
    assert capfd.readouterr().err == ""


def test_name_that_is_not_unicode_is_written_as_each_system_spells_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(streams, "write", written.append)
    streams.say("a\udcff")
    monkeypatch.setattr("sys.getfilesystemencodeerrors", lambda: "surrogatepass")  # Windows
    streams.say("a\ud800")
    assert written == [b"a\xff\n", b"a\xed\xa0\x80\n"]
