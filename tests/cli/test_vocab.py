"""fastbpe vocab: searches, counts, the report, trees, plots, and wrong usage."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = "low lower lowest naïve 東京"
    tokenizer = fastbpe.train([text] * 9, vocab_size=275, special_tokens=["<end>"], progress=False)
    tokenizer.save("m.fbpe")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("low lower")
    (tmp_path / "texts" / "b.jsonl").write_text('{"text": "low 東", "body": "naïve"}\n')
    return tmp_path


def listed(done) -> list[list[str]]:
    assert (done.status, done.err) == (0, "")
    return [line.split(maxsplit=3) for line in done.out.decode().splitlines()]


def test_search_lists_tokens_with_their_bytes_and_scripts(run, here):
    heads, *rows = listed(run("vocab", "-m", "m.fbpe", "--text", "low"))
    assert heads == ["id", "bytes", "script", "token"]
    tokenizer = fastbpe.load("m.fbpe")
    expected = [i for i, token in enumerate(tokenizer.vocab) if b"low" in token]
    assert [int(row[0]) for row in rows] == expected
    for row, i in zip(rows, expected, strict=True):
        assert row[1:] == [str(len(tokenizer.vocab[i])), "Latin", repr(tokenizer.vocab[i].decode())]


@pytest.mark.parametrize(
    ("flags", "condition"),
    [
        (("--regex", "^ .*e"), lambda i, token: token[:1] == b" " and b"e" in token),
        (("--id", "97-99", "--id", "260"), lambda i, token: i in (97, 98, 99, 260)),
        (("--length", "3"), lambda i, token: len(token) == 3),
        (("--length", "2-4", "--text", "o"), lambda i, token: 2 <= len(token) <= 4 and b"o" in token),
        (("--script", "digits"), lambda i, token: token.isdigit()),
        (("--script", "Names"), lambda i, token: token == b"<end>"),
    ],
)
def test_json_holds_the_tokens_that_fulfil_all_conditions(flags, condition, run, here):
    done = run("vocab", "-m", "m.fbpe", *flags, "--json")
    tokenizer = fastbpe.load("m.fbpe")
    tokens = [tokenizer.decode_tokens_bytes([i])[0] for i in range(275)]
    assert [found["id"] for found in json.loads(done.out)] == [
        i for i, token in enumerate(tokens) if condition(i, token)
    ]


def test_part_of_a_character_is_shown_as_bytes(run, here):
    rows = listed(run("vocab", "-m", "m.fbpe", "--id", "195"))
    assert rows[1] == ["195", "1", "part", "of a character  b'\\xc3'"]


def test_limit_tells_how_many_more_there_are(run, here):
    done = run("vocab", "-m", "m.fbpe", "--longest")
    lines = done.out.decode().splitlines()
    assert len(lines) == 52
    assert lines[-1] == "and 225 more; --limit 275 shows all"
    lengths = [int(line.split()[1]) for line in lines[1:-1]]
    assert lengths == sorted(lengths, reverse=True)
    assert len(run("vocab", "-m", "m.fbpe", "--limit", "300").out.decode().splitlines()) == 276
    assert len(json.loads(run("vocab", "-m", "m.fbpe", "--json").out)) == 275
    assert len(json.loads(run("vocab", "-m", "m.fbpe", "--json", "--limit", "2").out)) == 2


def test_search_without_results_prints_only_the_heads(run, here):
    assert listed(run("vocab", "-m", "m.fbpe", "--text", "zzz")) == [["id", "bytes", "script", "token"]]


def test_rarest_tokens_are_counted_in_the_texts(run, here):
    done = run("vocab", "-m", "m.fbpe", "texts", "--rarest", "--json")
    counts = {found["id"]: found["count"] for found in json.loads(done.out)}
    tokenizer = fastbpe.load("m.fbpe")
    ids = tokenizer.encode("low lower") + tokenizer.encode("low 東")
    assert counts == {i: ids.count(i) for i in counts}
    assert [*counts.values()] == sorted(counts.values())


@pytest.mark.parametrize(
    ("flags", "stdin", "text"),
    [
        (("texts/b.jsonl", "--text-field", "body"), b"", "naïve"),
        (("-",), "lowest 京".encode(), "lowest 京"),
        (("-", "--lines"), b"low\nlow\n", "lowlow"),
        (("texts/*.txt", "-"), b"low", "low lowerlow"),
    ],
)
def test_texts_are_read_as_other_commands_do(flags, stdin, text, run, here):
    done = run("vocab", "-m", "m.fbpe", *flags, "--text", "l", "--json", stdin=stdin)
    counted = sum(found["count"] for found in json.loads(done.out))
    tokenizer = fastbpe.load("m.fbpe")
    parts = ["low", "low"] if text == "lowlow" else ["low lower", "low"] if text == "low lowerlow" else [text]
    assert counted == sum(b"l" in tokenizer.vocab[i] for part in parts for i in tokenizer.encode(part))


@pytest.mark.daily
def test_report_equals_the_library(run, here):
    tokenizer = fastbpe.load("m.fbpe")
    assert run("vocab", "-m", "m.fbpe", "--report").out.decode() == f"{fastbpe.vocabulary_report(tokenizer)}\n"
    report = fastbpe.vocabulary_report(tokenizer, Path("texts"), progress=False)
    assert run("vocab", "-m", "m.fbpe", "texts", "--report").out.decode() == f"{report}\n"
    done = run("vocab", "-m", "m.fbpe", "texts", "--report", "--json")
    assert json.loads(done.out) == json.loads(json.dumps(report.to_dict()))


def test_tree_is_plain_without_a_terminal(run, here):
    tree = fastbpe.merge_tree(fastbpe.load("m.fbpe"), "low")
    done = run("vocab", "-m", "m.fbpe", "--tree", "low")
    assert done.out.decode() == f"{tree}\n"
    assert run("vocab", "-m", "m.fbpe", "--tree", str(tree.id)) == done
    assert json.loads(run("vocab", "-m", "m.fbpe", "--tree", "low", "--json").out) == tree.to_dict()


def test_tree_has_colours_where_they_are_wanted(run, here, monkeypatch):
    pytest.importorskip("rich")
    plain = run("vocab", "-m", "m.fbpe", "--tree", "low", "--color", "never").out.decode()
    coloured = run("vocab", "-m", "m.fbpe", "--tree", "low", "--color", "always").out.decode()
    assert "\x1b[" in coloured
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert run("vocab", "-m", "m.fbpe", "--tree", "low", "--color", "always").failed_with(
        "needs rich", "pip install"
    )
    assert run("vocab", "-m", "m.fbpe", "--tree", "low").out.decode() == plain


def test_control_characters_of_tokens_never_reach_the_terminal(run, here):
    hostile = ["\x1b[31m", "\u202eabc", "\x07", "a\u2028b"]
    ranks = {bytes([i]): i for i in range(256)} | {text.encode(): 256 + i for i, text in enumerate(hostile)}
    fastbpe.Tokenizer.from_ranks(ranks, pattern=None, special_tokens={"\x1b]0;x\x07": 300}).save("h.fbpe")
    for flags in (("--limit", "999"), ("--report",), ("--tree", "300"), ("--tree", "257", "--color", "always")):
        shown = run("vocab", "-m", "h.fbpe", *flags).out.decode()
        assert not {"\x1b]", "\x07", "\u202e", "\u2028"} & {*shown, *(shown[i : i + 2] for i in range(len(shown)))}
        assert "color" in str(flags) or "\x1b" not in shown


@pytest.mark.daily
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot_is_written(ending, run, here):
    pytest.importorskip("matplotlib")
    done = run("vocab", "-m", "m.fbpe", "--plot", f"out.{ending}", "--limit", "1")
    assert (done.status, done.err) == (0, "")
    assert (here / f"out.{ending}").read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert run("vocab", "-m", "m.fbpe", "--plot", f"out.{ending}", "--text", "zzz", "--force").status == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--report", "--tree", "low"), "--report and --tree: pass one of them"),
        (("--report", "--text", "low"), "--text cannot be combined with --report"),
        (("--tree", "low", "--limit", "3"), "--limit cannot be combined with --tree"),
        (("--tree", "low", "--plot", "a.svg"), "--plot cannot be combined with --tree"),
        (("--tree", "low", "texts"), "--tree cannot be combined with FILEs"),
        (("--rarest",), "--rarest counts in texts: pass FILEs"),
        (("--lines",), "--format: they need FILEs"),
        (("--separator", "a"), "--format: they need FILEs"),
        (("--text-field", "a"), "--format: they need FILEs"),
        (("--format", "jsonl"), "--format: they need FILEs"),
        (("--tree", "low", "--format", "jsonl"), "--format: they need FILEs"),
        (("--color", "always"), "--color needs --tree"),
        (("--longest", "--rarest", "texts"), "--longest and --rarest: pass one of them"),
        (("--json=5",), "--json: takes no value; leave '5' out"),
        (("--length", "5-3"), "'5-3' is not a number or a range such as 3-5"),
        (("--id", "-5"), "--id"),
        (("--id", "5-"), "'5-' is not a number or"),
        (("--limit", "x"), "'x' must be an integer of at least 0"),
        (("texts", "--lines", "--separator", "a"), "--lines and --separator"),
    ],
)
def test_wrong_usage_has_status_2(flags, said, run, here):
    done = run("vocab", "-m", "m.fbpe", *flags)
    assert done.status == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--regex", "("), "regex '('"),
        (("--script", "Klingon"), "the scripts of the vocabulary are Han"),
        (("--tree", "zzz"), "'zzz' is not a token"),
        (("--tree", "9999"), "id 9999 has no token"),
        (("--plot", "a.txt"), "must end with .png or .svg"),
        (("--plot", "no/a.svg"), "no: No such file"),
        (("no.txt",), "no.txt"),
        (("no.txt", "--report"), "no.txt"),
    ],
)
def test_failure_is_one_line(flags, said, run, here):
    assert run("vocab", "-m", "m.fbpe", *flags).failed_with(said)


def test_closed_pipe_ends_quietly(here, monkeypatch):
    class Closed:
        def write(self, data: bytes) -> None:
            raise BrokenPipeError

        @property
        def buffer(self) -> Closed:
            return self

        def isatty(self) -> bool:
            return False

        def flush(self) -> None:
            pass

        def fileno(self) -> int:
            raise OSError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["vocab", "-m", "m.fbpe"]) == 141
