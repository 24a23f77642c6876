"""A small tokenizer on disk, and a fixture that runs commands in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import main

TEXT = "low lower lowest\nnaïve 東京 🙂🙂\n" * 20


@dataclass(frozen=True)
class Outcome:
    status: int
    out: bytes
    err: str

    def failed_with(self, *parts: str) -> bool:
        """Check for status 1 and one line on stderr that holds all of these parts."""
        assert self.status == 1, self
        assert self.err.startswith("fastbpe: error: "), self
        assert self.err.count("\n") == 1, self
        assert "Traceback" not in self.err, self
        for part in parts:
            assert part in self.err, self
        return True


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Function that runs a command: run("encode", "-m", model, stdin=b"...")."""

    def run_here(*argv: str | Path, stdin: bytes = b"") -> Outcome:
        # An ASCII stdin: a command that depended on the locale would fail.
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        try:
            status = main([str(argument) for argument in argv])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = capsysbinary.readouterr()
        return Outcome(status, captured.out, captured.err.decode())

    return run_here


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text.txt, and a tokenizer trained on it as model.fbpe and model.tiktoken."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "text.txt").write_bytes(TEXT.encode())
    tokenizer = fastbpe.train([TEXT], vocab_size=280, special_tokens=["<|end|>", "a=b"])
    tokenizer.save(folder / "model.fbpe")
    tokenizer.export(folder / "model.tiktoken", format="tiktoken")
    return folder


@pytest.fixture(scope="session")
def text(folder: Path) -> Path:
    return folder / "text.txt"


@pytest.fixture(scope="session")
def model(folder: Path) -> Path:
    return folder / "model.fbpe"


@pytest.fixture(scope="session")
def ranks(folder: Path) -> Path:
    return folder / "model.tiktoken"
