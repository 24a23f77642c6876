"""train --mode ids, and encode and decode with its model: sequences of integers as text and as arrays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fastbpe
from cli.conftest import Run

CODES = [[0, 1, 2, 3, 0, 1, 2], [3, 0, 1, 2], [], [0, 1, 0, 1]]
LINES = "0 1 2 3 0 1 2\n3 0 1 2\n\n0  1\t0 1\r\n"
TRAIN = (
    "train",
    "-o",
    "codes.fbpe",
    "--mode",
    "ids",
    "--base-size",
    "4",
    "--force",
    "--vocab-size",
    "7",
    "--quiet",
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("codes.txt").write_text(LINES, newline="")


def trained(run: Run, *files: str, stdin: bytes = b"") -> fastbpe.SequenceTokenizer:
    outcome = run(*TRAIN, *files, stdin=stdin)
    assert (outcome.status, outcome.out, outcome.err) == (0, b"", ""), outcome
    return fastbpe.SequenceTokenizer.load("codes.fbpe")


def test_training_equals_train(run: Run) -> None:
    expected = fastbpe.train(CODES, mode="ids", base_size=4, vocab_size=7, progress=False)
    assert trained(run, "codes.txt") == expected
    assert trained(run, stdin=LINES.encode()) == expected
    assert trained(run, "-", stdin=LINES.encode()) == expected
    twice = fastbpe.train(CODES * 2, mode="ids", base_size=4, vocab_size=7, progress=False)
    assert trained(run, "codes.txt", "codes.txt") == twice


@pytest.mark.daily
def test_options_reach_train(run: Run) -> None:
    outcome = run(*TRAIN[:-1], "codes.txt", "--ties", "first", "--min-count", "2", "--max-token-length", "2")
    assert outcome.err.splitlines()[-1] == "codes.fbpe: 5 tokens, learned from 15 symbols in 4 sequences", outcome
    report = fastbpe.SequenceTokenizer.load("codes.fbpe").training_report
    assert (report["ties"], report["min_count"], report["max_token_length"]) == ("first", 2, 2)


def test_encode_and_decode_are_inverse(run: Run) -> None:
    tokenizer = trained(run, "codes.txt")
    encoded = run("encode", "-m", "codes.fbpe", "codes.txt").out
    assert encoded.decode() == "".join(" ".join(map(str, tokenizer.encode(codes))) + "\n" for codes in CODES)
    assert run("encode", "-m", "codes.fbpe", stdin=LINES.encode()).out == encoded
    lines = run("decode", "-m", "codes.fbpe", "--lines", stdin=encoded).out
    assert [[*map(int, line.split())] for line in lines.decode().splitlines()] == CODES
    whole = run("decode", "-m", "codes.fbpe", stdin=encoded).out
    assert [*map(int, whole.split())] == [code for codes in CODES for code in codes]
    assert whole.count(b"\n") == 1


def test_arrays_are_sequences_and_rows(run: Run) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save("one.npy", numpy.array(CODES[0], "uint16"))
    numpy.save("rows.npy", numpy.array([[0, 1, 2], [0, 1, 3]], "int64"))
    one = fastbpe.train(CODES[:1], mode="ids", base_size=4, vocab_size=7, progress=False)
    assert trained(run, "one.npy") == one
    rows = [one.encode([0, 1, 2]), one.encode([0, 1, 3])]
    found = run("encode", "-m", "codes.fbpe", "rows.npy", "one.npy").out.decode().splitlines()
    assert [[*map(int, line.split())] for line in found] == [*rows, one.encode(CODES[0])]
    numpy.save("ids.npy", numpy.array(rows[0], "uint32"))
    assert run("decode", "-m", "codes.fbpe", "ids.npy").out == b"0 1 2\n"


def test_long_sequences_are_one_line(run: Run) -> None:
    trained(run, "codes.txt")
    codes = "3 1 " * 70_000
    encoded = run("encode", "-m", "codes.fbpe", stdin=codes.encode())
    assert encoded.out.count(b"\n") == 1
    assert run("decode", "-m", "codes.fbpe", stdin=encoded.out).out.decode().split() == codes.split()


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (["encode", "-m", "codes.fbpe", "bad.txt"], ["bad.txt:2: 'x' at position 1 is not a symbol or id"]),
        (["encode", "-m", "codes.fbpe", "big.txt"], ["big.txt, sequence 1: 4 at position 0 is not a symbol"]),
        (["encode", "-m", "codes.fbpe", "none.txt"], ["none.txt"]),
        (["encode", "-m", "codes.fbpe", "floats.npy"], ["floats.npy: an array of float64 with ndim=1"]),
        (
            ["encode", "-m", "codes.fbpe", "no.npy"],
            ["no.npy: not a valid .npy file: it is not an array of numbers"],
        ),
        (["decode", "-m", "codes.fbpe", "ids.txt"], ["ids.txt: id 99 at position 1"]),
        (["decode", "-m", "codes.fbpe", "ids.txt", "--lines"], ["ids.txt:1: id 99 at position 1"]),
        ([*TRAIN, "big.txt"], ["4 at position 0"]),
        ([*TRAIN, "codes.txt", "--pattern", "gpt2"], ["--pattern is not an option of training in ids mode"]),
        ([*TRAIN, "codes.txt", "--special", ""], ["--special '': a name must be"]),
        (
            [*TRAIN, "codes.txt", "--num-threads", "2"],
            ["the source is sequences of integers: leave out --num-threads"],
        ),
        (
            ["encode", "-m", "codes.fbpe", "big.txt", "-o", "out.bin"],
            ["big.txt:1: 4 at position 0 is not a symbol: a base size of 4 allows 0 to 3"],
        ),
        (
            ["verify", "codes.fbpe", "-m", "codes.fbpe"],
            ["codes.fbpe: not a file of ids or a folder", "a tokenizer for sequences of integers"],
        ),
        (
            [*TRAIN, "codes.txt", "--option", "a=b"],
            ["works only with --mode codepoint or unigram, not with --mode ids"],
        ),
        (
            ["encode", "-m", "codes.fbpe", "half.jsonl"],
            ["half.jsonl, sequence 1: symbols must be integers: 0.5 at"],
        ),
        ([*TRAIN, "half.jsonl"], ["symbols must be integers: 0.5 at position 0 of sequence 0"]),
        (
            ["count-pieces", "codes.txt", "-o", "a.p", "--superwords", "codes.fbpe"],
            ["codes.fbpe: this tokenizer encodes sequences of integers"],
        ),
        ([*TRAIN, "codes.txt", "--lines"], ["--lines cannot be combined with --mode ids"]),
        (
            ["encode", "-m", "codes.fbpe", "codes.txt", "--special", "a=7"],
            ["--special is for text, but this is a tokenizer of sequences of integers; leave --special out\n"],
        ),
        ([*TRAIN[:-2], "6", "codes.txt", "--base", "codes.fbpe"], ["--vocab-size 6 is too small: the base has 7"]),
        (
            [
                "train",
                "codes.txt",
                "-o",
                "c.fbpe",
                "--mode",
                "ids",
                "--base",
                "codes.fbpe",
                "--vocab-size",
                "9",
                "--base-size",
                "5",
            ],
            ["--base-size 5 does not match the base"],
        ),
        (
            [
                "train",
                "codes.txt",
                "-o",
                "c.fbpe",
                "--mode",
                "byte",
                "--base",
                "codes.fbpe",
                "--vocab-size",
                "300",
            ],
            ["--mode ids", "--mode byte"],
        ),
        (
            [
                "train",
                "codes.txt",
                "-o",
                "c.fbpe",
                "--mode",
                "ids",
                "--base",
                "codes.fbpe",
                "--vocab-size",
                "+1",
                "--base-special",
                "end",
            ],
            ["--base-special end"],
        ),
        ([*TRAIN, "empty.txt"], ["there is nothing to learn from"]),
        (
            ["train", "codes.txt", "-o", "c.fbpe", "--mode", "ids", "--vocab-size", "7"],
            ["needs --base, or --base-size"],
        ),
        (
            ["train", "codes.txt", "-o", "c.json", "--mode", "ids", "--vocab-size", "7", "--base-size", "4"],
            ["c.json: --mode ids writes only .fbpe files"],
        ),
        (["train", "codes.txt", "-o", "c.fbpe", "--vocab-size", "300", "--base-size", "4"], ["--mode ids"]),
    ],
)
def test_bad_input_fails_with_one_line(run: Run, line: list[str], parts: list[str]) -> None:
    numpy = pytest.importorskip("numpy")
    Path("half.jsonl").write_text("[0.5]\n")
    trained(run, "codes.txt")
    Path("bad.txt").write_text("1 2\n3 x\n")
    Path("big.txt").write_text("4\n")
    Path("ids.txt").write_text("1 99\n")
    Path("empty.txt").write_text("")
    Path("no.npy").write_bytes(b"1 2")
    numpy.save("floats.npy", numpy.zeros(3))
    assert run(*line).failed_with(*parts)


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (["encode", "--lines"], "--lines"),
        (["encode", "--separator", "x"], "--separator"),
        (["encode", "--allow-special", "all"], "--allow-special"),
        (["encode", "--forbid-special"], "--forbid-special"),
        (["encode", "--text-field", "ids"], "--text-field"),
        ([*TRAIN, "--text-field", "ids"], "--text-field"),
        (["decode", "--dtype", "uint16"], "--dtype"),
    ],
)
def test_flags_of_text_are_refused(run: Run, line: list[str], flag: str) -> None:
    trained(run, "codes.txt")
    outcome = run(*line, *(() if line[0] == "train" else ("-m", "codes.fbpe")), "codes.txt")
    assert "--format" not in outcome.err, "no command reads sequences with --format"
    assert (outcome.status, outcome.out) == (2, b"")
    assert f"error: {flag} " in outcome.err
    assert f"leave {flag} out" in outcome.err


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".idx"])
def test_files_of_ids_are_written_verified_and_decoded(run: Run, suffix: str) -> None:
    special = ["--vocab-size", "8", "--special", "<end>"]
    assert run(*TRAIN[:-3], *special, "--quiet", "codes.txt").status == 0
    line = ["encode", "-m", "codes.fbpe", "codes.txt", "-o", f"out{suffix}", "--document-end", "<end>"]
    assert run(*line).err == f"out{suffix}: 9 ids of 4 sequences\n"
    done = run("verify", f"out{suffix}", "-m", "codes.fbpe")
    assert (done.out.decode(), done.err) == (f"out{suffix}: 1 file, 9 ids of 4 documents\n", "")
    lines = run("decode", "-m", "codes.fbpe", f"out{suffix}", "--lines").out
    assert [[*map(int, line.split())] for line in lines.decode().splitlines()] == CODES
    assert run(*line).failed_with("exists; to replace it, pass --force")
    assert run(*line, "--force", "--shard", "0/2").status == 2


def test_fields_of_json_lines_hold_sequences(run: Run) -> None:
    Path("codes.jsonl").write_text("".join(f'{{"codes": {codes}}}\n' for codes in CODES))
    assert trained(run, "codes.jsonl", "--text-field", "codes") == trained(run, "codes.txt")
    encoded = run("encode", "-m", "codes.fbpe", "codes.txt").out
    assert run("encode", "-m", "codes.fbpe", "codes.jsonl", "--text-field", "codes").out == encoded
    Path("codes.jl").write_text(Path("codes.jsonl").read_text())
    assert run("encode", "-m", "codes.fbpe", "codes.jl", "--text-field", "codes").out == encoded
    Path("CODES.JSONL").write_text(Path("codes.jsonl").read_text())
    assert run("encode", "-m", "codes.fbpe", "CODES.JSONL", "--text-field", "codes").out == encoded
    assert run("encode", "-m", "codes.fbpe", "codes.jsonl").failed_with("codes.jsonl:1: no field 'input_ids'")


def test_folders_and_patterns_mean_their_files(run: Run) -> None:
    Path("all/below").mkdir(parents=True)
    Path("all/a.txt").write_text("0 1 2\n")
    Path("all/below/b.jsonl").write_text('{"codes": [0, 1, 3]}\n')
    Path("all/notes.md").write_text("no integers\n")
    expected = fastbpe.train([[0, 1, 2], [0, 1, 3]], mode="ids", base_size=4, vocab_size=5, progress=False)
    options = (*TRAIN[:-2], "5", "--quiet", "--text-field", "codes")
    for names in (["all"], ["all/*.txt", "all/**/b.*"]):
        assert run(*options, *names).status == 0
        assert fastbpe.SequenceTokenizer.load("codes.fbpe") == expected
        assert run("encode", "-m", "codes.fbpe", "--text-field", "codes", *names).out == b"4 2\n4 3\n"
    done = run("encode", "-m", "codes.fbpe", "--text-field", "codes", "-o", "ids.npy", "all")
    assert done.err.splitlines()[-1].startswith("ids.npy: 4 ids of 2 sequences"), done
    Path("all/below/b.jsonl").write_text('{"codes": [9]}\n')
    done = run("encode", "-m", "codes.fbpe", "--text-field", "codes", "all")
    assert done.failed_with(f"{Path('all/below/b.jsonl')}, sequence 1: ")


def test_decoding_leaves_out_special_tokens(run: Run) -> None:
    trained(run, "codes.txt").with_special_tokens(["<end>"]).save("codes.fbpe")
    Path("ids.txt").write_text("0 7 1")
    assert run("decode", "-m", "codes.fbpe", "ids.txt").out == b"0 1\n"


def test_info_shows_a_tokenizer_of_sequences(run: Run) -> None:
    tokenizer = trained(run, "codes.txt").with_special_tokens(["<end>"])
    tokenizer.save("codes.fbpe")
    shown = run("info", "codes.fbpe").out.decode()
    assert [*map(str.split, shown.splitlines())][1:5] == [
        ["mode", "ids"],
        ["vocabulary", "8", "tokens,", "ids", "0", "to", "7"],
        ["symbols", "4"],
        ["merges", "3"],
    ]
    assert "7 '<end>'" in shown
    facts = json.loads(run("info", "codes.fbpe", "--json").out)
    assert (facts["base_size"], facts["special_tokens"], facts["n_merges"]) == (4, {"<end>": 7}, 3)
    longest = facts["longest_tokens"][0]
    assert longest["symbols"] == [*tokenizer.id_to_token(longest["id"])]


def test_info_of_tokens_that_double_takes_no_memory(run: Run) -> None:
    doubling = fastbpe.SequenceTokenizer.from_merges([(i, i) for i in range(30)], base_size=1)
    doubling.save("codes.fbpe")
    done = run("info", "codes.fbpe")
    assert (done.status, done.err) == (0, "")
    assert f"30 … ({2**30} symbols)" in done.out.decode()
