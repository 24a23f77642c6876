"""--format, and what commands say of formats, folders and options that can have no effect."""

from __future__ import annotations

import gzip
import io

import pyarrow
import pyarrow.parquet
import pytest

import fastbpe

LINES = b'{"text": "low lower", "doc": {"text": "low"}}\n{"text": "lowest", "doc": {"text": "er"}}\n'


def parquet() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["low lower", "lowest"]}), sink)
    return sink.getvalue()


@pytest.mark.parametrize("command", ["count", "encode", "train", "count-pieces", "show", "compare", "vocab"])
@pytest.mark.parametrize("stdin", [True, False])
def test_format_by_hand_is_taken_by_every_command(command, stdin, run, model, tmp_path):
    out = tmp_path / "out.fbpe"
    flags = {
        "train": ["-o", out, "--vocab-size", "258", "--force"],
        "count-pieces": ["-o", tmp_path / "out.pieces", "--force"],
        "compare": ["-m", model, "-m", model],
    }.get(command, ["-m", model])
    for format, data in (
        ("jsonl", LINES),
        ("jsonl", gzip.compress(LINES)),
        ("parquet", parquet()),
        ("text", LINES),
    ):
        (tmp_path / "a").write_bytes(data)
        given = {"stdin": data} if stdin else {}
        files = [] if stdin and command != "vocab" else ["-"] if stdin else [tmp_path / "a"]
        done = run(command, *flags, "--format", format, *files, **given)
        assert done.status == 0, (format, done.err)
        assert "warning" not in done.err
        if command == "encode":
            texts = [LINES] if format == "text" else ["low lower", "lowest"]
            encode = fastbpe.load(model).encode_ordinary
            lines = [[int(word) for word in line.split()] for line in done.out.decode().splitlines()]
            assert lines == [encode(text) for text in texts]
        if command == "train":
            texts = [LINES] if format == "text" else ["low lower", "lowest"]
            assert fastbpe.load(out) == fastbpe.train(texts, vocab_size=258)


def test_nested_field_is_read_from_standard_input(run, model):
    done = run("count", "-m", model, "--format", "jsonl", "--text-field", "doc.text", stdin=LINES)
    count = fastbpe.load(model).count
    assert int(done.out) == count("low") + count("er")


def test_standard_input_that_looks_like_json_lines_is_said(run, model):
    done = run("count", "-m", model, stdin=LINES)
    assert done.status == 0
    said = "<stdin>: the input looks like JSON Lines, but is read as text; --format jsonl reads a document"
    assert said in done.err
    assert run("count", "-m", model, "--format", "text", stdin=LINES).err == ""


@pytest.mark.parametrize("command", ["count", "encode", "train", "count-pieces", "show", "compare"])
def test_flags_without_effect_are_wrong_usage(command, run, model, tmp_path):
    flags = {"train": ["-o", tmp_path / "o.fbpe", "--vocab-size", "258"], "count-pieces": ["-o", tmp_path / "o"]}
    flags = flags.get(command, ["-m", model])
    (tmp_path / "a.txt").write_text("low")
    (tmp_path / "a.json").write_bytes(LINES)
    for more, said in (
        ([tmp_path / "a.txt", "--text-field", "body"], "--text-field body has no effect"),
        ([tmp_path / "a.json", "--lines"], "--lines has no effect"),
        ([tmp_path / "a.json", "--separator", "x"], "--separator x has no effect"),
    ):
        done = run(command, *flags, *more)
        assert done.status == 2
        assert said in done.err
    done = run(command, *flags, "--text-field", "body", stdin=b"low")
    assert done.status == 2
    assert "--text-field body has no effect" in done.err


def test_summaries_count_what_folders_leave_out(run, model, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text("low")
    (tmp_path / "corpus" / "b.md").write_text("not read")
    (tmp_path / "corpus" / ".c.txt").write_text("hidden")
    done = run("encode", "-m", model, tmp_path / "corpus", "-o", tmp_path / "out.bin")
    assert done.err.endswith(" of 1 document, 1 file in folders not read\n")
    done = run("train", tmp_path / "corpus", "-o", tmp_path / "out.fbpe", "--vocab-size", "257")
    assert done.err.endswith("learned from 3 bytes, 1 file in folders not read\n")


def test_byte_order_mark_and_utf16_of_standard_input(run, model):
    count = run("count", "-m", model, stdin=b"low").out
    assert run("count", "-m", model, stdin=b"\xef\xbb\xbflow").out == count
    done = run("count", "-m", model, stdin="a text of some length".encode("utf-16"))
    assert done.failed_with("<stdin>: it is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8 FILE")
