"""train, count and encode read the same documents as streams: files, folders, glob patterns, standard input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import fastbpe
from fastbpe.cli import command_line, streams
from fastbpe.corpus import sources
from helpers.child_processes import HAS_ASAN
from helpers.shared_data import standard_library
from helpers.tokenizer_json import dumped, small

PACKAGE = str(Path(fastbpe.__file__).parents[1])
TEXTS = ["low lower", "", "lowest\nnaïve 東京", "low<|end|>"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of all kinds of files, each with TEXTS or with one text."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = "".join(json.dumps({"id": i, "text": text, "body": "x"}) + "\n" for i, text in enumerate(TEXTS))
    (folder / "a.jsonl").write_text(lines)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS, "body": ["x"] * 4}), folder / "c.parquet")
    (folder / "d.txt").write_text("low\nlower\n")
    (folder / "e.txt.zst").write_bytes(zstandard.compress(b"low\nlower\n"))
    (folder / "f.md").write_text("not of a folder")
    return folder


def ids_of(out: bytes) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in out.decode().splitlines()]


def test_every_kind_of_file_is_read_by_document(run, model, corpus):
    encode = fastbpe.load(model).encode_ordinary
    documents = [*TEXTS, *TEXTS, *TEXTS, "low\nlower\n", "low\nlower\n"]
    n_each = sum(len(encode(text)) for text in TEXTS)
    n_last = len(encode("low\nlower\n"))
    names = ["a.jsonl", "b.jsonl.gz", "c.parquet", "d.txt", "e.txt.zst"]
    for arguments in ([corpus], [f"{corpus}/*.*[!d]"], [corpus / name for name in names]):
        done = run("encode", "-m", model, *arguments)
        assert (done.status, done.err, ids_of(done.out)) == (0, "", [encode(text) for text in documents])
        rows = [line.split() for line in run("count", "-m", model, *arguments).out.decode().splitlines()]
        assert [int(n) for n, _ in rows] == [n_each] * 3 + [n_last] * 2 + [3 * n_each + 2 * n_last]
        assert [name for _, name in rows] == [str(corpus / name) for name in names] + ["total"]
    assert run("count", "-m", model, corpus / "a.jsonl").out.decode() == f"{n_each} {corpus / 'a.jsonl'}\n"
    assert run("encode", "-m", model, corpus, "-o", corpus / "out.bin").status == 0
    assert json.loads((corpus / "out.bin.json").read_bytes())["documents"] == len(documents)


@pytest.mark.parametrize(
    ("flags", "documents"), [(["--lines"], ["low", "", "er"]), (["--separator", "\n\n"], ["low", "er\n"])]
)
@pytest.mark.parametrize("stdin", [True, False])
def test_lines_and_separators_split_files_and_stdin_alike(flags, documents, stdin, run, model, tmp_path):
    data, tokenizer = b"low\n\ner\n", fastbpe.load(model)
    (tmp_path / "a.txt").write_bytes(data)
    given = {"stdin": data} if stdin else {}
    files = [] if stdin else [tmp_path / "a.txt"]
    assert ids_of(run("encode", "-m", model, *flags, *files, **given).out) == [
        *map(tokenizer.encode_ordinary, documents)
    ]
    assert int(run("count", "-m", model, *flags, *files, **given).out.split()[0]) == sum(
        map(tokenizer.count, documents)
    )
    out = tmp_path / "a.fbpe"
    assert run("train", *files, "-o", out, "--vocab-size", "258", "--pattern", "none", *flags, **given).status == 0
    assert fastbpe.load(out) == fastbpe.train(documents, vocab_size=258, pattern=None)


@pytest.mark.parametrize("command", ["count", "encode", "train"])
def test_missing_field_is_named(command, run, model, corpus, tmp_path):
    model_flags = (
        ["-o", tmp_path / "out.fbpe", "--vocab-size", "260", "--force"] if command == "train" else ["-m", model]
    )
    for name, said in (
        ("a.jsonl", "no object with a field 'content'; its fields are"),
        ("c.parquet", "no column 'content'; its columns are"),
    ):
        done = run(command, *model_flags, corpus / name, "--text-field", "content")
        assert done.failed_with(f"{name}", said, "'text'", "'body'", "--text-field")
    assert run(command, *model_flags, corpus / "a.jsonl", "--text-field", "body").status == 0
    helped = " ".join(run(command, "--help").out.decode().split())
    assert 'in the field "text" or the one that --text-field names' in helped
    assert "named as text (.txt), JSON lines (.jsonl, .json), .parquet or .arrow" in helped


def test_standard_input_is_text(run, model):
    line = b'{"text": "low"}\n'
    n = fastbpe.load(model).count(line)
    assert run("count", "-m", model, stdin=line).out == b"%d\n" % n
    assert len(ids_of(run("encode", "-m", model, stdin=line).out)[0]) == n
    assert run("train", "--lines", "--errors", "replace", "-o", os.devnull + "x", "--vocab-size", "9").status == 1


def test_long_documents_are_encoded_in_parts(run, model, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 100)
    tokenizer = fastbpe.load(model)
    text = standard_library(20_000).replace("import", "<|end|>") + "a=b" * 50
    (tmp_path / "a.txt").write_text(text)
    for flags, ids in (
        ([], tokenizer.encode_ordinary(text)),
        (["--allow-special", "all"], tokenizer.encode(text, allowed_special="all")),
    ):
        for given in ({"stdin": text.encode()}, {}):
            files = [] if given else [tmp_path / "a.txt"]
            assert ids_of(run("encode", "-m", model, *flags, *files, **given).out) == [ids]
    assert int(run("count", "-m", model, stdin=text.encode()).out) == tokenizer.count(text)
    done = run("encode", "-m", model, "--forbid-special", tmp_path / "a.txt")
    assert done.failed_with("a.txt:1: ", "disallowed special token")


@pytest.mark.parametrize("command", ["count", "encode"])
def test_large_files_are_read_in_blocks(command, run, model, tmp_path, monkeypatch):
    """The reader records the size of each request."""
    asked: list[int] = []

    class Endless:
        left = 200

        def read(self, n: int = -1) -> bytes:
            asked.append(n)
            self.left -= 1
            return b"low lower lowest\n" * 1000 if self.left > 0 else b""

    monkeypatch.setattr(sources, "BLOCK", 17_000)
    monkeypatch.setattr(
        streams, "_bytes_of", lambda stream, what: Endless() if stream is sys.stdin else stream.buffer
    )
    done = run(command, "-m", model)
    assert done.status == 0
    assert 0 < max(asked) <= 2 * 17_000
    assert min(asked) > 0


@pytest.mark.skipif(HAS_ASAN, reason="AddressSanitizer has memory of its own")
@pytest.mark.daily
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc to know the peak of memory")
def test_memory_does_not_grow_with_file_size(model, tmp_path):
    code = """
import sys
from fastbpe.cli import main
assert main(sys.argv[1:]) == 0
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")], file=sys.stderr)
"""
    words = b"low lower lowest " * 7
    for name, line in (("a.txt", words + b"\n"), ("a.jsonl", b'{"text": "%s"}\n' % words)):
        for command in ("count", "encode"):
            peaks = []
            for n_lines in (1 << 14, 3 << 15):
                (tmp_path / name).write_bytes(line * n_lines)
                done = subprocess.run(
                    [sys.executable, "-c", code, command, "-m", str(model), str(tmp_path / name)],
                    env={**os.environ, "PYTHONPATH": PACKAGE},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    check=True,
                )
                peaks.append(int(done.stderr) * 1024)
            assert peaks[1] - peaks[0] < 4 << 20, (command, name)  # the files have 10 MB and more


def test_part_without_ids_leaves_no_separator(run, model, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("low")
    parts = [([""], False), (["lo"], False), (["w"], True), (["", "w"], True)]
    monkeypatch.setattr("fastbpe.cli.documents.read", lambda *arguments: iter(parts))
    one, other = (fastbpe.load(model).encode(part) for part in ("lo", "w"))
    found = run("encode", "-m", model, tmp_path / "a.txt", "--json").out.splitlines()
    assert [json.loads(line) for line in found] == [one + other, [], other]


@pytest.mark.daily
def test_each_line_is_encoded_as_it_arrives(model):
    """Output is not held back until more input arrives."""
    command = [sys.executable, "-u", "-m", "fastbpe", "encode", "-m", str(model), "--lines"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"low\n", b"lower\n"):
            process.stdin.write(line)
            assert process.stdout.readline().split()
        process.stdin.close()
        assert process.wait(300) == 0


def test_repeated_flag_is_refused(run):
    for line, flag in (
        ("vocab -m a -m b", "-m/--model"),
        ("encode -m a --model b", "-m/--model"),
        ("train -o a -o b --vocab-size 300", "-o/--output"),
        ("train -o a --vocab-size 300 --ties pair --ties first", "--ties"),
        ("demo --text a --text b", "--text"),
    ):
        done = run(*line.split())
        assert done.status == 2
        assert f"error: {flag} is given twice, but takes one value" in done.err
    assert (
        command_line.make_parser().parse_args(["count", "-m", "a", "--special", "a=1", "--special", "b=2"]).special
    )


def test_code_point_options_are_used_or_refused(run, text, tmp_path):
    flags = ["--vocab-size", "characters", "--mode", "codepoint", "--quiet", "--force"]
    flags += ["--option", "character_coverage=1"]
    out = tmp_path / "a.fbpe"
    assert run("train", text, "-o", out, *flags, "--option", "control_symbols=<a>,<b>").status == 0
    assert list(fastbpe.load(out).special_tokens) == ["<s>", "</s>", "<a>", "<b>"]
    for more, said in (
        (
            ["--option", "control_symbols=<a>", "--special", "<b>"],
            "--option control_symbols=... and --special set the same list",
        ),
        (["--option", "unk_id=1", "--option", "unk-id=2"], "--option unk_id=... is given twice"),
        (
            ["--option", "vocab_size=9"],
            "--option vocab_size=...: use --vocab-size",
        ),
        (["--option", "progress=1"], "--option progress=...: this command does not have this option"),
        (
            ["--option", "model_type=unigram"],
            "--option model_type=unigram: this run trains only 'bpe'; pass --mode unigram to train",
        ),
        (["--option", "auto_character_coverage=true"], "supported; pass --option character_coverage=..."),
        (
            ["--option", "user_defined_symbols=<unk>"],
            "leave it out of --special and --option user_defined_symbols=...",
        ),
        (["--option", "split_digits=no idea"], "--option split_digits='no idea': must be True or False"),
        (["--option", "input=a.txt"], "fastbpe's train has no option 'input': the text is the first argument"),
        (["--option", "model_prefix=a"], "export writes the model (-o OUT on the command line)"),
        (["--option", "num_sub_iterations=3"], "in codepoint mode: it is available only with --mode unigram"),
        (["--option", "enable_differential_privacy=true"], "sentencepiece 0.2.3 ignores it; leave it out"),
        (
            ["--min-count", "3"],
            "--min-count is not an option of training in codepoint mode: it is available only with --mode byte",
        ),
    ):
        assert run("train", text, "-o", out, *flags, *more).failed_with(said)


@pytest.mark.parametrize("mode", ["codepoint", "unigram"])
def test_error_about_the_number_of_pieces_names_an_option_of_the_shell(run, tmp_path, mode):
    (tmp_path / "a.txt").write_text("low lower lowest\n")
    done = run("train", tmp_path / "a.txt", "-o", tmp_path / "a.model", "--vocab-size", "400", "--mode", mode)
    assert done.failed_with("lower it, or set --option hard_vocab_limit=false")


def test_training_warns_of_skipped_text(run, tmp_path):
    (tmp_path / "a.txt").write_text("ab abc\n" * 20 + "x" * 8000 + "\n")
    out = tmp_path / "a.model"
    done = run("train", tmp_path / "a.txt", "-o", out, "--vocab-size", "characters", "--mode", "codepoint")
    assert done.err.splitlines() == [
        "fastbpe: warning: left out: 1 of 21 lines, 8,000 bytes: 1 longer than "
        "--option max_sentence_length=4192 bytes (raise it)",
        f"{out}: 7 tokens, learned from 140 bytes",
    ]


def test_settings_that_are_not_applied_are_warned_of_in_words_of_the_shell(run, tmp_path):
    truncation = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    described = small(truncation=truncation)
    described["model"]["dropout"] = 0.5
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dumped(described))
    done = run("count", "-m", path, stdin=b"x y z")
    assert done.out == b"5\n"
    assert done.err.splitlines() == [
        f"fastbpe: warning: {path}: its dropout, 0.5, is not applied: encode returns the same ids each time",
        f"fastbpe: warning: {path}: its truncation is not applied: encode returns all ids of a text, without "
        "padding",
    ]
