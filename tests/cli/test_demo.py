"""The demo, on a small text, on part of the standard library, and where it cannot run."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import demo, streams

STDLIB = Path(sysconfig.get_paths()["stdlib"])
CODE = b"def f(a|b):\n    return '\xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x99\x82'\n" * 50


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_stdlib(tmp_path, monkeypatch):
    root = tmp_path / "lib"
    (root / "json").mkdir(parents=True)
    for name in ("posixpath.py", "bisect.py", "json/decoder.py"):
        shutil.copy(STDLIB / name, root / name)
    for left_out in ("test/test_a.py", "site-packages/b.py", "json/tests/c.py", "notes.txt"):
        (root / left_out).parent.mkdir(exist_ok=True)
        (root / left_out).write_text("left out")
    (root / "latin1.py").write_bytes(b"# caf\xe9")
    (root / "empty.py").write_bytes(b"")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(root)})
    return root


def lines_of_python(out: bytes) -> str:
    _, _, lines = out.decode().partition("Use the tokenizer from Python:\n\n")
    return "\n".join(line.removeprefix("    ") for line in lines.splitlines())


def test_demo_runs_on_a_given_text(run, here, capsysbinary):
    (here / "own.txt").write_bytes(CODE)
    done = run("demo", "--text", "own.txt", "--vocab-size", "265")
    assert (done.status, done.err) == (0, "")
    out = done.out.decode()
    n_tokens = len(fastbpe.load("fastbpe-demo.fbpe").encode_ordinary(CODE))
    assert f"text     {len(CODE):,} bytes: own.txt\n" in out
    assert "trained  265 tokens in " in out
    assert f"encoded  {n_tokens:,} tokens, {len(CODE) / n_tokens:.2f} bytes per token, " in out
    assert f"decoded  {len(CODE):,} bytes, " in out
    assert "every byte came back" in out
    assert out.count(" MB/s\n") == 3
    assert "\x1b" not in out

    three_lines = lines_of_python(done.out)
    assert three_lines.count("\n") == 2
    exec(three_lines, {})
    ids = fastbpe.load("fastbpe-demo.fbpe").encode("def hello(name):")
    assert capsysbinary.readouterr().out.decode() == f"{ids}\n"


def test_demo_runs_on_the_standard_library(run, small_stdlib, here):
    done = run("demo", "--vocab-size", "400", "--output", here / "it's.fbpe")
    assert (done.status, done.err) == (0, "")
    names = ("bisect.py", "posixpath.py", "json/decoder.py")
    n_bytes = sum((small_stdlib / name).stat().st_size for name in names)
    assert f"{n_bytes:,} bytes: the 3 files of Python 3." in done.out.decode()
    assert "every byte came back" in done.out.decode()
    assert "|·" in done.out.decode()
    exec(lines_of_python(done.out).replace("print", "len"), {})
    expected = fastbpe.train([(small_stdlib / name).read_bytes() for name in names], vocab_size=400)
    assert fastbpe.load(here / "it's.fbpe") == expected


def test_standard_library_is_large_enough():
    corpus = demo.standard_library()
    assert 5_000_000 < sum(map(len, corpus.texts)) < 20_000_000
    assert corpus.sample.startswith("def split(p):\n")


def test_missing_standard_library_is_reported(run, here, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(here / "python311.zip")})
    assert run("demo").failed_with("contains no Python sources", "--text FILE")


def test_training_on_a_small_text_warns(run, here):
    (here / "own.txt").write_text("to be or not to be")
    done = run("demo", "--text", "own.txt")
    assert done.status == 0
    assert done.err.startswith("fastbpe: warning: no pair is left to merge")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "parts"),
    [(b"", ["own.txt: ", "the file is empty"]), (b"a\ncaf\xe9", ["own.txt:2: ", "0xe9", "offset 5"])],
)
def test_empty_or_invalid_text_is_refused(data, parts, run, here):
    (here / "own.txt").write_bytes(data)
    assert run("demo", "--text", "own.txt").failed_with(*parts)
    assert not (here / "fastbpe-demo.fbpe").exists()


def test_invalid_arguments_are_refused(run, here):
    (here / "own.txt").write_bytes(CODE)
    assert run("demo", "--text", "no.txt").failed_with("no.txt: No such file")
    assert run("demo", "--text", here).failed_with("Is a directory")
    assert run("demo", "--text", "own.txt", "--vocab-size", "5").failed_with("--vocab-size 5 is too small")
    assert run("demo", "--text", "own.txt", "--output", "no/a.fbpe").failed_with("no: No such file")


def test_unwritable_folder_is_replaced_by_a_temporary_one(run, here, monkeypatch):
    (here / "own.txt").write_bytes(CODE)
    monkeypatch.setattr(streams.os, "access", lambda path, mode: path != Path())
    elsewhere = here / "temporary"
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: elsewhere.mkdir() or str(elsewhere))
    done = run("demo", "--text", "own.txt", "--vocab-size", "265")
    assert done.status == 0
    why = "fastbpe-demo.fbpe cannot be written here (Permission denied)"
    assert done.err == f"fastbpe: warning: {why}; the tokenizer is written to {elsewhere} instead\n"
    assert f"saved    {elsewhere / 'fastbpe-demo.fbpe'}, " in done.out.decode()
    exec(lines_of_python(done.out).replace("print", "len"), {})


def test_changed_round_trip_is_reported(run, here, monkeypatch):
    (here / "own.txt").write_bytes(CODE)
    monkeypatch.setattr(fastbpe.Tokenizer, "decode_bytes", lambda self, ids: b"?")
    assert run("demo", "--text", "own.txt", "--vocab-size", "265").failed_with("decoding did not restore a text")


def test_json_has_the_sizes_and_seconds(run, here):
    (here / "own.txt").write_text("low lower lowest\n" * 9)
    told = json.loads(run("demo", "--text", "own.txt", "--vocab-size", "262", "--json").out)
    assert (told["file"], told["vocab_size"], told["n_bytes"]) == ("fastbpe-demo.fbpe", 262, 153)
    assert told["seconds"].keys() == {"training", "loading", "encoding", "decoding"}
