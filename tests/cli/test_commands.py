"""train, encode, decode, count and info: their output, and their errors for bad input."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import fastbpe
from fastbpe._core.split.scanner import paths
from fastbpe.cli import command_line, shared_flags, streams

DAMAGED = b"caf\xe9 au lait\n"
PACKAGE = str(Path(fastbpe.__file__).parents[1])


def start(*argv, **more):
    """Start the command in a separate process."""
    env = {**os.environ, "PYTHONPATH": PACKAGE, **more.pop("env", {})}
    return subprocess.Popen([sys.executable, "-m", "fastbpe", *map(str, argv)], env=env, **more)


class TestTrain:
    def test_train_equals_the_library(self, run, text, tmp_path):
        done = run("train", text, "-o", tmp_path / "a.fbpe", "--vocab-size", "270", "--special", "<|end|>")
        assert (done.status, done.out) == (0, b"")
        assert done.err == f"{tmp_path / 'a.fbpe'}: 270 tokens, learned from 800 bytes\n"
        expected = fastbpe.train(text, vocab_size=270, special_tokens=["<|end|>"])
        assert fastbpe.load(tmp_path / "a.fbpe") == expected

    def test_train_passes_every_option_on(self, run, text, tmp_path):
        flags = "--vocab-size 270 --pattern gpt2 --ties first --min-count 3 --max-token-bytes 4 --quiet"
        done = run("train", text, "-o", tmp_path / "a.fbpe", *flags.split())
        assert (done.status, done.out, done.err) == (0, b"", "")
        asked = {"vocab_size": 270, "pattern": "gpt2", "ties": "first", "min_count": 3, "max_token_bytes": 4}
        made = fastbpe.load(tmp_path / "a.fbpe")
        assert made == fastbpe.train(text, **asked)
        assert {name: made.training_report[name] for name in asked} | {"pattern": "gpt2"} == asked

    @pytest.mark.parametrize("files", [[], ["-"]])
    def test_train_reads_stdin(self, files, run, text, tmp_path):
        done = run("train", *files, "-o", tmp_path / "a.fbpe", "--vocab-size", "270", stdin=text.read_bytes())
        assert done.status == 0
        assert fastbpe.load(tmp_path / "a.fbpe") == fastbpe.train(text, vocab_size=270)

    def test_train_reads_files_and_stdin_together(self, run, text, tmp_path):
        (tmp_path / "b.jsonl").write_text('{"text": "lower lower"}\n')
        with gzip.open(tmp_path / "c.txt.gz", "wb") as file:
            file.write(b"lowest")
        names = [text, "-", tmp_path / "b.jsonl", tmp_path / "c.txt.gz"]
        done = run("train", *names, "-o", tmp_path / "a.fbpe", "--vocab-size", "265", stdin=b"new news")
        assert done.status == 0
        texts = [text.read_bytes(), b"new news", "lower lower", "lowest"]
        assert fastbpe.load(tmp_path / "a.fbpe") == fastbpe.train(texts, vocab_size=265)

    def test_train_replaces_its_output_only_with_force(self, run, text, tmp_path):
        (tmp_path / "a.fbpe").write_text("old")
        line = ["train", text, "-o", tmp_path / "a.fbpe", "--vocab-size", "270"]
        assert run(*line).failed_with(f"{tmp_path / 'a.fbpe'} exists; --force replaces it")
        assert (tmp_path / "a.fbpe").read_text() == "old"
        assert run(*line, "--force").status == 0
        assert fastbpe.load(tmp_path / "a.fbpe").vocab_size == 270
        assert os.listdir(tmp_path) == ["a.fbpe"]

    def test_train_passes_reading_options_on(self, run, tmp_path):
        lines = [{"body": "low lower lowest"}, {"text": 1}, {"body": "slow"}]
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
        flags = ["--vocab-size", "262", "--text-field", "body", "--on-error", "skip", "--num-threads", "2"]
        flags += ["--max-memory-bytes", "1000000", "--errors", "replace", "--quiet"]
        assert run("train", tmp_path / "a.jsonl", "-o", tmp_path / "a.fbpe", *flags).status == 0
        made = fastbpe.load(tmp_path / "a.fbpe")
        assert made == fastbpe.train(["low lower lowest", "slow"], vocab_size=262)
        assert made.training_report["n_skipped"] == 1
        del flags[4:6]
        done = run("train", tmp_path / "a.jsonl", "-o", tmp_path / "b.fbpe", *flags)
        assert done.status == 1
        assert f"{tmp_path / 'a.jsonl'}:2: no object with a field 'body'" in done.err

    def test_train_extends_a_base(self, run, text, tmp_path):
        base = fastbpe.train(text, vocab_size=265, special_tokens=["<|end|>"], pattern="gpt2")
        base.save(tmp_path / "base.fbpe")
        flags = ["--vocab-size", "270", "--base", tmp_path / "base.fbpe", "--base-special", "end"]
        done = run("train", "-o", tmp_path / "a.fbpe", *flags, stdin=b"new news newest")
        assert done.status == 0
        made = fastbpe.load(tmp_path / "a.fbpe")
        assert made == fastbpe.train(["new news newest"], vocab_size=270, base=base, base_special="end")
        assert made.special_tokens == {"<|end|>": 269}

    def test_train_extends_a_tiktoken_file(self, run, text, tmp_path):
        base = fastbpe.train(text, vocab_size=265, pattern="gpt2")
        base.export(tmp_path / "base.tiktoken", format="tiktoken")
        flags = ["--vocab-size", "270", "--base", tmp_path / "base.tiktoken", "--pattern", "gpt2"]
        assert run("train", text, "-o", tmp_path / "a.fbpe", *flags).status == 0
        assert fastbpe.load(tmp_path / "a.fbpe") == fastbpe.train(text, vocab_size=270, pattern="gpt2")

    def test_train_warns_on_one_line(self, run, tmp_path):
        done = run("train", "-o", tmp_path / "a.fbpe", "--vocab-size", "999", stdin=b"aa")
        assert done.status == 0
        assert done.err.startswith("fastbpe: warning: no pair is left to merge: the vocabulary has 257 entries")
        assert done.err.count("\n") == 2

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            (["--vocab-size", "100"], "--vocab-size 100 is too small"),
            (["--vocab-size", "270", "--pattern", "cl100"], "did you mean 'cl100k'?"),
            (["--vocab-size", "270", "--pattern", "(a"], "(a"),
            (["--vocab-size", "270", "--special", ""], "special token"),
            (["--vocab-size", "270", "--special", "x", "--special", "x"], "'x' is given twice"),
            (["--vocab-size", "270", "--min-count", "0"], "--min-count 0"),
            (["--vocab-size", "270", "--max-token-bytes", "0"], "--max-token-bytes 0"),
            (["--vocab-size", "270", "--superwords", "400"], "lower --superwords, or raise --vocab-size"),
        ],
    )
    def test_invalid_options_are_refused(self, flags, message, run, text, tmp_path):
        assert run("train", text, "-o", tmp_path / "a.fbpe", *flags).failed_with(message)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("data", [b"", DAMAGED])
    def test_empty_or_invalid_text_is_refused(self, data, run, tmp_path):
        message = "offset 3" if data else "no text to learn from"
        assert run("train", "-o", tmp_path / "a.fbpe", "--vocab-size", "270", stdin=data).failed_with(message)
        (tmp_path / "in.txt").write_bytes(data)
        assert run("train", tmp_path / "in.txt", "-o", tmp_path / "a.fbpe", "--vocab-size", "270").failed_with(
            message
        )
        assert os.listdir(tmp_path) == ["in.txt"]

    def test_missing_file_is_named(self, run, tmp_path):
        done = run("train", tmp_path / "no.txt", "-o", tmp_path / "a.fbpe", "--vocab-size", "270")
        assert done.failed_with(f"{tmp_path / 'no.txt'}: No such file")

    def test_output_is_checked_before_reading(self, run, text, tmp_path):
        def train_to(output):
            return run("train", tmp_path / "no.txt", "-o", output, "--vocab-size", "270")

        assert train_to(tmp_path / "a.txt").failed_with(
            f"{tmp_path / 'a.txt'}: no format of byte-mode tokenizers has the extension .txt"
        )
        assert train_to(tmp_path / "no" / "a.fbpe").failed_with(f"{tmp_path / 'no'}: No such file")
        assert train_to(text / "a.fbpe").failed_with(f"{text}: Not a directory")
        assert train_to(os.devnull).failed_with(f"{os.devnull}: not a regular file")

    @pytest.mark.parametrize(("name", "format"), [("a.model", "minbpe"), ("a.json", "huggingface")])
    def test_format_without_a_place_for_roles_is_refused(self, name, format, run, text, tmp_path):
        flags = ["--vocab-size", "270", "--special", "<s>", "--roles", "bos=<s>"]
        done = run("train", text, "-o", tmp_path / name, *flags)
        message = f"{tmp_path / name}: {format} cannot store --roles; leave it out, or write a .fbpe file"
        assert done.failed_with(message)
        assert os.listdir(tmp_path) == []
        assert run("train", text, "-o", tmp_path / "a.fbpe", *flags).status == 0
        assert fastbpe.load(tmp_path / "a.fbpe").roles["bos"] == "<s>"

    def test_format_of_the_output_is_not_called_by_the_option_for_documents(self, run, text, tmp_path):
        flags = ("-o", tmp_path / "a.json", "--vocab-size", "300", "--superwords", "boundless")
        done = run("train", text, *flags)
        assert "the format huggingface cannot store merges across words" in done.err
        assert (tmp_path / "a.json.fbpe").exists()

    @pytest.mark.parametrize("mode", ["byte", "codepoint", "unigram"])
    def test_role_of_a_missing_token_is_refused_in_words_of_the_shell(self, mode, run, text, tmp_path):
        out = tmp_path / "a.fbpe"
        given = ("train", text, "-o", out, "--vocab-size", "270", "--mode", mode)
        message = "roles: the token of bos, '<go>', is not a special token of this tokenizer"
        assert run(*given, "--roles", "bos=<go>").failed_with(f"{message}; add it with --special\n")
        assert run("train", text, "-o", out, "--vocab-size", "270").status == 0
        done = run("convert", out, tmp_path / "b.fbpe", "--roles", "bos=<go>")
        assert done.failed_with(f"{message}\n")

    def test_unwritable_folder_is_named(self, run, text, tmp_path, monkeypatch):
        monkeypatch.setattr(streams.os, "access", lambda path, mode: False)  # root may write anywhere
        done = run("train", text, "-o", tmp_path / "a.fbpe", "--vocab-size", "270")
        assert done.failed_with(f"{tmp_path}: Permission denied")

    @pytest.mark.daily
    def test_progress_is_shown_on_a_terminal(self, text, tmp_path):
        fcntl, pty, termios = map(pytest.importorskip, ("fcntl", "pty", "termios"))
        ours, theirs = pty.openpty()
        fcntl.ioctl(
            theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0)
        )  # the terminal would be 0 columns wide otherwise
        with start("train", text, "-o", tmp_path / "a.fbpe", "--vocab-size", "270", stderr=theirs) as process:
            assert process.wait(300) == 0
        os.close(theirs)
        with open(ours, "rb", buffering=0) as terminal:
            assert b"learning" in terminal.read(65536)


class TestEncode:
    @pytest.mark.parametrize("from_stdin", [True, False])
    def test_whole_input_is_one_text(self, from_stdin, run, model, text):
        data = text.read_bytes()
        done = run("encode", "-m", model, stdin=data) if from_stdin else run("encode", "-m", model, text)
        ids = fastbpe.load(model).encode_ordinary(data)
        assert (done.status, done.out, done.err) == (0, b"%s\n" % " ".join(map(str, ids)).encode(), "")
        assert run("decode", "-m", model, stdin=done.out).out == data

    def test_empty_input_gives_one_empty_line(self, run, model):
        assert run("encode", "-m", model).out == b"\n"
        assert run("encode", "-m", model, "--lines").out == b""
        assert run("decode", "-m", model).out == b""

    def test_long_output_is_written_completely(self, run, model):
        out = run("encode", "-m", model, stdin=b"!\n" * 70_000).out
        assert out == b"33 10 " * 69_999 + b"33 10\n"

    def test_lines_are_encoded_without_their_ends(self, run, model):
        done = run("encode", "-m", model, "--lines", stdin="low\r\n\nlow é\rx\nlast\r".encode())
        tokenizer = fastbpe.load(model)
        assert [[int(word) for word in line.split()] for line in done.out.splitlines()] == [
            tokenizer.encode_ordinary(line) for line in ("low", "", "low é\rx", "last\r")
        ]
        back = run("decode", "-m", model, "--lines", stdin=done.out)
        assert back.out == "low\n\nlow é\rx\nlast\r\n".encode()

    def test_allow_special_selects_special_tokens(self, run, model):
        def encode(*flags):
            done = run("encode", "-m", model, *flags, stdin=b"x<|end|>a=b")
            assert done.status == 0, done
            return [int(word) for word in done.out.split()]

        tokenizer = fastbpe.load(model)
        end, other = tokenizer.special_tokens["<|end|>"], tokenizer.special_tokens["a=b"]
        as_text = [120, *b"<|end|>", *b"a=b"]
        assert encode() == as_text
        assert encode("--allow-special", "all") == [120, end, other]
        assert encode("--allow-special", "<|end|>") == [120, end, *b"a=b"]
        assert encode("--allow-special", "<|end|>", "--allow-special", "a=b") == [120, end, other]
        assert encode("--allow-special", "all", "--forbid-special") == [120, end, other]

    def test_forbid_special_names_the_token_and_line(self, run, model):
        done = run("encode", "-m", model, "--forbid-special", "--lines", stdin=b"x\nx<|end|>")
        assert done.failed_with("<stdin>:2:", "'<|end|>'", "--allow-special", "--forbid-special")
        assert "disallowed_special=" not in done.err
        flags = ["--forbid-special", "--allow-special", "<|end|>"]
        assert run("encode", "-m", model, *flags, stdin=b"<|end|>a=b").failed_with("'a=b'")

    def test_unknown_special_token_is_named(self, run, model):
        done = run("encode", "-m", model, "--allow-special", "<|no|>", stdin=b"x")
        assert done.failed_with("'<|no|>' is not a special token", "'<|end|>', 'a=b'")

    def test_tiktoken_file_needs_its_pattern(self, run, model, ranks, text):
        expected = run("encode", "-m", model, "--allow-special", "all", text).out
        flags = ["--pattern", "cl100k", "--special", "<|end|>=278", "--special", "a=b=279"]
        done = run("encode", "-m", ranks, *flags, "--allow-special", "all", text)
        assert (done.status, done.out) == (0, expected)
        assert run("encode", "-m", ranks, text).failed_with("does not store its split pattern")
        assert run("encode", "-m", ranks, "--pattern", "o200", text).failed_with("did you mean 'o200k'?")
        assert run("encode", "-m", ranks, *flags, "--special", "c=5", text).failed_with("'c'", "5")

    def test_invalid_utf8_is_named_with_its_offset(self, run, model, tmp_path):
        assert run("encode", "-m", model, stdin=DAMAGED).failed_with("<stdin>:1: ", "0xe9", "offset 3")
        assert run("encode", "-m", model, "--lines", stdin=b"a\n" + DAMAGED).failed_with("<stdin>:2: ", "offset 5")
        (tmp_path / "a.txt").write_bytes(DAMAGED)
        assert run("encode", "-m", model, tmp_path / "a.txt").failed_with(f"{tmp_path / 'a.txt'}:1: ", "0xe9")

    def test_output_file_holds_ids_of_all_documents(self, run, model, text, tmp_path):
        tokenizer, out = fastbpe.load(model), tmp_path / "out.bin"
        (tmp_path / "b.jsonl").write_text('{"body": "low"}')
        flags = ["--document-end", "<|end|>", "--text-field", "body", "--dtype", "uint32"]
        done = run("encode", "-m", model, text, tmp_path / "b.jsonl", "-o", out, "--lines", *flags)
        lines = text.read_text(encoding="utf-8").splitlines()
        end = tokenizer.special_tokens["<|end|>"]
        ids = [token_id for line in [*lines, "low"] for token_id in [*tokenizer.encode_ordinary(line), end]]
        said = f"{out}: {len(ids):,} ids of {len(lines) + 1} documents\n"
        assert (done.status, done.out, done.err) == (0, b"", said)
        assert out.read_bytes() == struct.pack(f"<{len(ids)}I", *ids)
        assert run("encode", "-m", model, text, "-o", out).failed_with("exists", "--force")
        done = run("encode", "-m", model, text, "-o", out, "--force", "--quiet", "--separator", "\n\n")
        assert (done.status, done.out, done.err) == (0, b"", "")

    @pytest.mark.daily
    def test_closed_pipe_ends_quietly(self, model, tmp_path):
        (tmp_path / "long.txt").write_bytes(b"lower lowest\n" * 100_000)
        pipe = subprocess.PIPE
        with start("encode", "-m", model, "--lines", tmp_path / "long.txt", stdout=pipe, stderr=pipe) as process:
            assert process.stdout.readline()
            process.stdout.close()
            assert (process.wait(300), process.stderr.read()) == (141, b"")

    @pytest.mark.daily
    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_full_disk_is_reported_on_one_line(self, model, text):
        with (
            open("/dev/full", "wb") as full,
            start("encode", "-m", model, text, stdout=full, stderr=subprocess.PIPE) as process,
        ):
            assert process.wait(300) == 1
            assert process.stderr.read() == b"fastbpe: error: No space left on device\n"

    @pytest.mark.daily
    def test_ascii_locale_handles_unicode(self, model, text):
        ascii_only = {
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONIOENCODING": "ascii",
            "PYTHONCOERCECLOCALE": "0",
        }
        pipe = subprocess.PIPE
        with (
            start("encode", "-m", model, text, stdout=pipe, env=ascii_only) as encoding,
            start("decode", "-m", model, stdin=encoding.stdout, stdout=pipe, env=ascii_only) as decoding,
        ):
            assert decoding.communicate(timeout=300)[0] == text.read_bytes()


class TestDecode:
    @pytest.mark.parametrize("suffix", [".bin", ".npy"])
    def test_decode_reads_files_of_ids(self, suffix, run, model, text, tmp_path):
        (tmp_path / "b.txt").write_text("low\nlower\n")
        for n, (name, flags) in enumerate(((text, ["--lines"]), (tmp_path / "b.txt", ["--lines"]), (text, []))):
            out = tmp_path / f"{n}{suffix}"
            assert run("encode", "-m", model, name, "-o", out, *flags).status == 0
            assert run("decode", "-m", model, out, *flags).out == name.read_bytes()
        assert run("decode", "-m", model, tmp_path / f"1{suffix}").out == b"lowlower"

    def test_decode_refuses_files_of_ids_that_do_not_fit(self, run, model, ranks, text, tmp_path):
        run("encode", "-m", model, text, "-o", tmp_path / "a.bin")
        done = run("decode", "-m", ranks, "--pattern", "none", tmp_path / "a.bin")
        assert done.failed_with(f"{tmp_path / 'a.bin'}: its ids were made by the tokenizer ")
        (tmp_path / "raw.bin").write_bytes(b"h\0\xff\xff")
        assert run("decode", "-m", model, tmp_path / "raw.bin").failed_with(
            "raw.bin: needs raw.bin.json, which states the dtype of the ids"
        )
        done = run("decode", "-m", model, tmp_path / "raw.bin", "--dtype", "uint16")
        assert done.failed_with(f"{tmp_path / 'raw.bin'}: document 0: ", "65535")
        done = run("decode", "-m", model, "--dtype", "uint16", stdin=b"104")
        assert (done.status, done.out) == (2, b"")
        assert "--dtype is only for .bin files" in done.err

    def test_decode_writes_exact_bytes(self, run, model, tmp_path):
        every_byte = " ".join(map(str, range(256)))
        assert run("decode", "-m", model, stdin=every_byte.encode()).out == bytes(range(256))
        (tmp_path / "ids").write_text("\n 104\t105\n\n10 \r\n")
        assert run("decode", "-m", model, tmp_path / "ids").out == b"hi\n"

    @pytest.mark.parametrize("bad", ["abc", "-1", "1.5", "1_0", "+1", "٣", "9" * 5000, "1;"])
    def test_invalid_id_is_named(self, bad, run, model):
        done = run("decode", "-m", model, stdin=f"104 {bad} 105".encode())
        assert done.failed_with("<stdin>: ", f"'{bad[:40]}' at position 1 is not an id")
        assert done.out == b""
        assert len(done.err) < 200

    @pytest.mark.parametrize("bad", ["280", "99999999999"])
    def test_unknown_id_is_named_with_its_line(self, bad, run, model):
        done = run("decode", "-m", model, "--lines", stdin=f"104\n105 {bad}\n".encode())
        assert done.failed_with("<stdin>:2: ", f"id {bad} at position 1 is not a token", "between 0 and 279")
        assert done.out == b"h\n"


class TestCount:
    def test_count_prints_files_and_a_total(self, run, model, text, tmp_path):
        (tmp_path / "é.txt").write_bytes(b"")
        n = len(fastbpe.load(model).encode_ordinary(text.read_bytes()))
        assert run("count", "-m", model, text).out.decode() == f"{n} {text}\n"
        done = run("count", "-m", model, text, tmp_path / "é.txt", "-", stdin=b"low")
        width = len(str(n + 1))
        rows = [(n, text), (0, tmp_path / "é.txt"), (1, "-"), (n + 1, "total")]
        assert done.out.decode() == "".join(f"{count:{width}} {name}\n" for count, name in rows)

    def test_count_reads_stdin(self, run, model):
        assert run("count", "-m", model, stdin=b"low<|end|>").out == b"8\n"
        assert run("count", "-m", model, stdin=DAMAGED).failed_with("<stdin>:1: ")

    def test_count_continues_after_a_bad_file(self, run, model, text, tmp_path):
        done = run("count", "-m", model, tmp_path / "no.txt", tmp_path, text)
        assert done.status == 1
        assert [line.partition(": ")[2] for line in done.err.splitlines()] == [
            f"error: {tmp_path / 'no.txt'}: No such file or directory",
            f"error: {tmp_path}: no text (.txt), JSON lines, .parquet or .arrow file in this folder; select "
            f"other files with a pattern such as '{tmp_path}/**/*.py', or set their format with --format",
        ]
        assert [line.split()[-1] for line in done.out.decode().splitlines()] == [str(text), "total"]
        assert run("count", "-m", model, tmp_path / "no.txt").failed_with("no.txt")

    @pytest.mark.parametrize("n_models", [1, 2])
    def test_count_of_nothing_prints_no_total(self, run, model, tmp_path, n_models):
        done = run("count", *("-m", model) * n_models, tmp_path / "a.txt", tmp_path / "b.txt")
        assert (done.status, done.out, done.err.count("\n")) == (1, b"", 2)

    def test_count_has_a_column_for_each_tokenizer(self, run, model, text, tmp_path):
        other = tmp_path / "bytes.fbpe"
        fastbpe.Tokenizer.from_merges([], pattern=None).save(other)
        (tmp_path / "a.txt").write_bytes(b"low lower")
        files = [text, tmp_path / "a.txt"]
        tokenizers = [fastbpe.load(model), fastbpe.load(other)]
        counts = [[tokenizer.count(file.read_bytes()) for tokenizer in tokenizers] for file in files]
        done = run("count", "-m", model, "-m", other, *files)
        heads, *rows = (line.split() for line in done.out.decode().splitlines())
        assert heads == [str(model), str(other)]
        totals = [sum(column) for column in zip(*counts, strict=True)]
        expected = zip([*counts, totals], [*files, "total"], strict=True)
        assert rows == [[*map(str, numbers), str(name)] for numbers, name in expected]
        assert len({len(line.rpartition(" ")[0]) for line in done.out.decode().splitlines()[1:]}) == 1
        done = run("count", "-m", model, "-m", other, "--lines", stdin=b"low lower\nlow")
        assert done.out.decode().split()[2:] == [str(t.count("low lower") + t.count("low")) for t in tokenizers]

    def test_count_writes_json(self, run, model, text):
        n = fastbpe.load(model).count(text.read_bytes())
        done = run("count", "-m", model, "-m", model, text, text, "--json")
        row = {"file": str(text), "model": str(model), "n_tokens": n}
        assert json.loads(done.out) == [row] * 4
        done = run("count", "-m", model, "--json", stdin=b"")
        assert json.loads(done.out) == [{"file": "<stdin>", "model": str(model), "n_tokens": 0}]


class TestProgress:
    @pytest.mark.parametrize(
        ("words", "said"),
        [("count", "counting: 6"), ("encode", "encoding: 6"), ("vocab --rarest --limit 1", "counting: 6")],
    )
    def test_long_work_shows_a_bar_on_a_terminal(self, words, said, run, model, tmp_path, monkeypatch):
        (tmp_path / "a.txt").write_text("low lo")
        quiet = run(*words.split(), "-m", model, tmp_path / "a.txt")
        assert quiet.err == ""
        monkeypatch.setattr("fastbpe._utils.progress.shows_bars", lambda progress: progress is not False)
        seen = run(*words.split(), "-m", model, tmp_path / "a.txt")
        assert said in seen.err
        assert seen.out == quiet.out


class TestInfo:
    def test_info_prints_a_table(self, run, model):
        tokenizer = fastbpe.load(model)
        shown = run("info", model).out.decode()
        sets = f"instruction set  {os.environ.get('FASTBPE_SIMD') or paths()[0]}\n"
        for part in (str(model), "280 tokens, ids 0 to 279", "cl100k", tokenizer.fingerprint, "'<|end|>'", sets):
            assert part in shown
        assert "n_bytes: 800" in shown

    def test_info_prints_json(self, run, model):
        tokenizer = fastbpe.load(model)
        told = json.loads(run("info", model, "--json").out)
        assert told["vocab_size"] == told["n_vocab"] == 280
        assert told["special_tokens"] == {"<|end|>": 278, "a=b": 279}
        assert (told["pattern_name"], told["pattern"]) == ("cl100k", fastbpe.PATTERNS["cl100k"])
        assert told["fingerprint"] == tokenizer.fingerprint
        assert told["n_merges"] == 22
        assert told["training"] == json.loads(json.dumps(tokenizer.training_report))
        longest = max((token for token in tokenizer.vocab[:278]), key=len)
        assert told["longest_tokens"][0]["n_bytes"] == len(longest)

    def test_info_prints_several_patterns(self, run, tmp_path):
        ranks = {bytes([byte]): byte for byte in range(256)}
        fastbpe.Tokenizer.from_ranks(ranks, pattern=["\n", r"\d{1,3}"]).save(tmp_path / "a.fbpe")
        assert r"\n, then \d{1,3}" in run("info", tmp_path / "a.fbpe").out.decode()
        assert json.loads(run("info", tmp_path / "a.fbpe", "--json").out)["pattern"] == ["\n", r"\d{1,3}"]

    def test_info_shortens_long_lists_in_the_table(self, run, tmp_path):
        tokenizer = fastbpe.train(["-" * 4096], vocab_size=268, pattern="-+\n?")
        tokenizer.with_special_tokens({f"<{i}>": 300 + i for i in range(40)}).save(tmp_path / "a.fbpe")
        shown = run("info", tmp_path / "a.fbpe").out.decode()
        assert "… 28 more" in shown
        assert max(map(len, shown.splitlines())) < 200
        assert r"-+\n?" in shown
        assert len(json.loads(run("info", tmp_path / "a.fbpe", "--json").out)["special_tokens"]) == 40

    def test_tiktoken_file_needs_its_pattern(self, run, ranks):
        shown = run("info", ranks, "--pattern", "none").out.decode()
        assert "278 tokens" in shown
        assert "training" not in shown


class TestEveryCommand:
    @pytest.mark.parametrize("command", ["encode", "decode", "count", "info"])
    def test_invalid_model_is_named(self, command, run, folder, tmp_path):
        def load(path):
            return run(command, *(["-m"] if command != "info" else []), path)

        assert load(tmp_path / "no.fbpe").failed_with(f"{tmp_path / 'no.fbpe'}: No such file or directory")
        assert load(tmp_path).failed_with(f"{tmp_path}: no tokenizer in this folder")
        (tmp_path / "a.fbpe").write_bytes((folder / "model.fbpe").read_bytes()[:-1])
        assert load(tmp_path / "a.fbpe").failed_with("a.fbpe: damaged")
        (tmp_path / "empty").write_bytes(b"")
        assert load(tmp_path / "empty").failed_with("empty: ")
        assert load(folder / "text.txt").failed_with("text.txt: not a format that fastbpe reads")

    @pytest.mark.parametrize(
        "line",
        [
            "nonsense",
            "--nonsense",
            "train x.txt",
            "train -o a.fbpe x.txt",
            "train -o a.fbpe --vocab-size many",
            "train -o a.fbpe --vocab-size 270 --ties random",
            "encode",
            "encode -m",
            "encode -m a.fbpe one two --lines --separator x",
            "count -m a.fbpe one two --lines --separator x",
            "count -m a.fbpe --text-field x",
            "count -m a.fbpe - --text-field x",
            "train -o a.fbpe --vocab-size 300 --text-field x",
            "train -o a.fbpe --vocab-size 300 --lines --separator x",
            "encode -m a.fbpe -m b.fbpe",
            "info a.fbpe --pattern gpt2 --pattern gpt2",
            "encode -m a.fbpe one --force",
            "encode -m a.fbpe one --dtype uint16",
            "encode -m a.fbpe -o a.bin",
            "encode -m a.fbpe -o a.bin -",
            "encode -m a.fbpe -o a.bin one --lines --separator x",
            "encode -m a.fbpe -o a.bin one --allow-special all",
            "encode -m a.fbpe --special end",
            "encode -m a.fbpe --special end=x",
            "encode -m a.fbpe --special =5",
            "decode -m a.fbpe --nonsense",
            "info",
            "count --model a.fbpe --patt gpt2",
        ],
    )
    def test_wrong_usage_exits_with_status_2(self, line, run):
        done = run(*line.split())
        assert (done.status, done.out) == (2, b"")
        error, usage = done.err.splitlines()
        assert error.startswith("fastbpe: error: ")
        assert usage.startswith("usage: fastbpe ")
        assert usage.endswith("--help)")
        assert max(len(error), len(usage)) < 160

    def test_version_is_printed(self, run):
        assert run("--version").out.decode().strip() == f"fastbpe {fastbpe.__version__}"

    def test_interrupt_exits_quietly_with_status_130(self, run, model, monkeypatch):
        def interrupted(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(shared_flags, "load", interrupted)
        done = run("info", model)
        assert (done.status, done.out, done.err) == (130, b"", "")

    def test_bugs_keep_their_traceback(self, run, model, monkeypatch):
        def broken(*args, **kwargs):
            raise AttributeError("a bug")

        monkeypatch.setattr(shared_flags, "load", broken)
        with pytest.raises(AttributeError, match="a bug"):
            run("info", model)

    @pytest.mark.parametrize(
        ("error", "line"),
        [
            (MemoryError(), "not enough memory"),
            (ValueError("two\nlines\n"), "two lines"),
            (ValueError(), "ValueError"),
            (OSError("odd"), "odd"),
            (ImportError("a.zst: .zst files need zstandard"), "a.zst: .zst files need zstandard"),
            (FileNotFoundError(2, "No such file", "a"), "a: No such file"),
            (FileNotFoundError(2, "No such file", ".a.tmp", None, "a"), "a: No such file"),
        ],
    )
    def test_errors_are_described_on_one_line(self, error, line):
        assert command_line.describe(error) == line

    def test_missing_optional_package_is_named(self, run, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "zstandard", None)
        (tmp_path / "a.txt.zst").touch()
        done = run("train", tmp_path / "a.txt.zst", "-o", tmp_path / "a.fbpe", "--vocab-size", "300")
        assert done.failed_with("a.txt.zst: .zst files need zstandard: pip install zstandard")

    def test_closed_stdout_is_reported(self, run, model, text, monkeypatch):
        monkeypatch.setattr(sys, "stdout", None)
        assert run("count", "-m", model, text).failed_with("standard output is closed")

    def test_closed_stdin_is_reported(self, model, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stdin", None)
        assert command_line.main(["count", "-m", str(model)]) == 1
        assert capsys.readouterr().err == "fastbpe: error: standard input is closed\n"
