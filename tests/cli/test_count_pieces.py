"""fastbpe count-pieces: counts of text, counts merged, and training from them; errors for bad input."""

from __future__ import annotations

import errno
import json

import pytest

import fastbpe
from fastbpe import PieceCounts


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("--pattern gpt2 --special <|end|>", {"pattern": "gpt2", "special_tokens": ["<|end|>"]}),
        ("--mode codepoint --option split_digits=true", {"mode": "codepoint", "split_digits": True}),
        ("--mode unigram --option split_digits=true", {"mode": "unigram", "split_digits": True}),
    ],
)
def test_counting_merging_and_training_equal_the_library(run, tmp_path, flags, options):
    texts = ["low lower 12<|end|> lowest", "slow slower 34"]
    for name, text in zip("ab", texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text)
        done = run("count-pieces", tmp_path / f"{name}.txt", "-o", tmp_path / f"{name}.pieces", *flags.split())
        assert done.status == 0
    done = run("count-pieces", tmp_path / "a.pieces", tmp_path / "b.pieces", "-o", tmp_path / "all.pieces")
    assert "from 2 files of counts" in done.err
    expected = fastbpe.count_pieces(iter(texts), **options)
    assert PieceCounts.load(tmp_path / "all.pieces") == expected
    mode = options.get("mode", "byte")
    training = ["--vocab-size", {"byte": "265", "codepoint": "30", "unigram": "20"}[mode], "--mode", mode]
    for names in (["all.pieces"], ["a.pieces", "b.pieces"]):
        done = run("train", *(tmp_path / name for name in names), "-o", tmp_path / "m.fbpe", "--force", *training)
        assert done.status == 0, done
        made = fastbpe.train(expected, mode=mode, vocab_size=int(training[1]))
        assert fastbpe.load(tmp_path / "m.fbpe") == made


def test_pattern_is_for_a_base_that_does_not_store_its_pattern(run, tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest\nlow lower\n")
    base = fastbpe.train(tmp_path / "a.txt", vocab_size=260, pattern="gpt2", progress=False)
    base.export(tmp_path / "base.tiktoken")
    base.save(tmp_path / "base.fbpe")
    flags = (tmp_path / "a.txt", "-o", tmp_path / "a.runs", "--superwords", "auto", "--pattern", "gpt2", "--base")
    done = run("count-pieces", *flags, tmp_path / "base.tiktoken")
    assert done.status == 0, done
    expected = fastbpe.count_pieces(tmp_path / "a.txt", base=base, superwords=fastbpe.Superwords())
    assert PieceCounts.load(tmp_path / "a.runs") == expected
    done = run("count-pieces", "--force", *flags, tmp_path / "base.fbpe")
    assert done.status == 1
    assert "contains its own split pattern" in done.err
    words = fastbpe.train(tmp_path / "a.txt", vocab_size=260, pattern="gpt2", superwords="words", progress=False)
    words.export(tmp_path / "words.tiktoken")
    flags = (
        "-o",
        tmp_path / "a.runs",
        "--force",
        "--pattern",
        "gpt2",
        "--superwords",
        tmp_path / "words.tiktoken",
    )
    done = run("count-pieces", tmp_path / "a.txt", *flags)
    assert done.status == 1
    assert "does not store how often its words occur; train one with --superwords words" in done.err


@pytest.mark.parametrize("command", [("count-pieces",), ("train", "--vocab-size", "257")])
def test_skipping_on_standard_input_is_refused(run, tmp_path, command):
    lines = b'{"text": "low"}\n{"other": 1}\n'
    flags = (*command, "--format", "jsonl", "--on-error", "skip", "-o", tmp_path / "out.fbpe")
    done = run(*flags, stdin=lines)
    assert done.status == 2
    assert "--on-error skip cannot be used with standard input" in done.err
    (tmp_path / "a.jsonl").write_bytes(lines)
    assert run(*flags, tmp_path / "a.jsonl").status == 0


def test_min_count_says_how_much_it_left_out(run, tmp_path):
    (tmp_path / "a.txt").write_text("low low lower")
    done = run(
        "count-pieces", tmp_path / "a.txt", "-o", tmp_path / "a.pieces", "--min-count", "2", "--pattern", r" ?\w+"
    )
    assert done.status == 0
    assert "without 3 occurrences of rare pieces" in done.err


@pytest.mark.parametrize(
    ("flags", "unit", "units"),
    [
        ((), "piece", "pieces"),
        (("--mode", "codepoint"), "word", "words"),
        (("--mode", "unigram"), "word", "words"),
        (("--superwords", "words.fbpe"), "run of words", "runs of words"),
        (("--superwords", "auto", "--base", "base.fbpe"), "run of tokens", "runs of tokens"),
        (
            ("--superwords", "auto", "--base", "base.fbpe", "--neighbours", "count"),
            "pair of tokens",
            "pairs of tokens",
        ),
    ],
)
def test_report_names_what_was_counted_and_merged(run, tmp_path, monkeypatch, flags, unit, units):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low lower lowest\nlow slow\nslow lowest low lower")
    options = {"vocab_size": 261, "progress": False}
    if "words.fbpe" in flags:
        fastbpe.train("a.txt", superwords="words", **options).save("words.fbpe")
    fastbpe.train("a.txt", **options).save("base.fbpe")
    done = run("count-pieces", "a.txt", "-o", "a.pieces", *flags)
    assert f"distinct {units}, " in done.err, done
    assert f"distinct {units}" in repr(PieceCounts.load("a.pieces"))
    done = run("count-pieces", "a.pieces", "a.pieces", "-o", "b.pieces")
    assert f"distinct {units}, " in done.err, done
    done = run("count-pieces", "a.pieces", "-o", "c.pieces", "--min-count", "99")
    assert f"occurrences of rare {units}" in done.err, done
    for file in ("a.txt", "a.pieces"):
        options = flags if file == "a.txt" else ()
        done = run("count-pieces", file, "-o", "d.pieces", "--force", "--json", *options)
        assert json.loads(done.out)["unit"] == unit


def test_mixed_and_wrong_input_is_refused(run, tmp_path):
    (tmp_path / "a.txt").write_text("low lower")
    PieceCounts({"low": 1}).save(tmp_path / "a.pieces")
    for command in (("count-pieces",), ("train", "--vocab-size", "260")):
        done = run(*command, tmp_path / "a.txt", tmp_path / "a.pieces", "-o", tmp_path / "out.fbpe")
        assert done.status == 1
        assert "a.txt is not a count file, but other" in done.err
    for flag in (["--lines"], ["--mode", "codepoint"], ["--errors", "replace"]):
        done = run("count-pieces", tmp_path / "a.pieces", "-o", tmp_path / "out", *flag)
        assert done.status == 1
        assert f"{flag[0]} is for text, but these FILEs are count files" in done.err
    for flag in (["--lines"], ["--text-field", "body"]):
        done = run("train", tmp_path / "a.pieces", "-o", tmp_path / "out", "--vocab-size", "260", *flag)
        assert done.failed_with(f"the source is counted already: leave out {flag[0]}")
    done = run("count-pieces", tmp_path / "a.txt", "-o", tmp_path / "out", "--option", "split_digits=true")
    assert done.status == 1
    assert "only with --mode codepoint or unigram" in done.err
    assert not (tmp_path / "out").exists()


def test_counts_of_pieces_do_not_train_superwords(run, tmp_path):
    PieceCounts({"low": 1}).save(tmp_path / "a.pieces")
    flags = ("-o", tmp_path / "a.fbpe", "--vocab-size", "300", "--superwords", "boundless")
    done = run("train", tmp_path / "a.pieces", *flags)
    assert done.failed_with(
        "--superwords boundless needs the texts, or counts of runs (count-pieces with --superwords)"
    )


def test_full_disk_error_names_the_option_of_the_shell(run, tmp_path, monkeypatch):
    class Full:
        def __init__(self, **options):
            raise OSError(errno.ENOSPC, "No space left on device")

    fastbpe.PieceCounts((b"%d" % i, 1) for i in range(20_000)).save(tmp_path / "a.pieces")
    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    done = run("count-pieces", tmp_path / "a.pieces", "-o", tmp_path / "b.pieces", "--max-memory-bytes", "1")
    assert done.failed_with("set TMPDIR to a folder with enough space, or raise --max-memory-bytes")
