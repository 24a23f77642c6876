"""Natural mistakes at the command line, and the answers: two lines that say the way out."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import command_line


@pytest.fixture
def here(model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.fbpe").write_bytes(model.read_bytes())
    (tmp_path / "text.txt").write_bytes(text.read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("cuont text.txt", "there is no command 'cuont'; did you mean count?"),
        ("tokenize text.txt", "there is no command 'tokenize'; did you mean encode?"),
        ("frobnicate", "there is no command 'frobnicate'; `fastbpe --help` lists them"),
        ("count -m words.fbpe --jsno", "there is no option --jsno; did you mean --json?"),
        ("train text.txt -o a.fbpe --vocabsize 300", "there is no option --vocabsize; did you mean --vocab-size?"),
        ("count text.txt", "no tokenizer: pass -m gpt-4o or -m FILE"),
        ("count words.fbpe text.txt", "no tokenizer: did you mean -m words.fbpe?"),
        ("encode gpt-4o text.txt", "no tokenizer: did you mean -m gpt-4o?"),
        ("info -m words.fbpe", "fastbpe info takes the tokenizer without -m"),
        ("info", "MODEL is missing"),
        ("train text.txt", "-o/--output and --vocab-size are missing"),
        (
            "decode -m words.fbpe 1 2 3",
            "ids come from a file or through a pipe: echo 1 2 3 | fastbpe decode -m MODEL",
        ),
        ("encode -m words.fbpe -o a.bin text.txt --dtype unit16", "--dtype unit16: did you mean uint16?"),
        ("encode -m words.fbpe text.txt -x", "there is no option -x; `fastbpe encode --help` lists them"),
        ("train text.txt -o a.fbpe --vocab-size 300 --num-threads two", "--num-threads: 'two' is not an integer"),
        ("train text.txt -o", "-o/--output: needs a value"),
        ("encode -m words.fbpe text.txt ''", "FILE is empty; pass a path"),
        ("train text.txt --vocab-size 300 -o ''", "-o/--output is empty; pass a path"),
        ("compare -m words.fbpe -m '' text.txt", "-m/--model is empty; pass a name or path"),
    ],
)
def test_wrong_usage_is_answered_in_two_lines(line: str, answer: str, run, here: Path) -> None:
    done = run(*shlex.split(line))
    assert (done.status, done.out) == (2, b"")
    error, usage = done.err.splitlines()
    assert error.startswith(f"fastbpe: error: {answer}")
    assert usage.startswith("usage: fastbpe")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("vocab words.fbpe --id x{}", "--id: 'x{:.59}...' is not a number or a range such as 3-5"),
        ("vocab words.fbpe --limit -{}", "--limit: '-{:.59}...' must be an integer of at least 0"),
        ("encode -m words.fbpe -o a.bin text.txt --shard {}/2", "--shard: '{:.60}...' is not I/N with I from 0"),
        ("web --port {}", "--port: '{:.60}...' is not a port"),
        ("train text.txt -o a.fbpe --vocab-size 300 --num-threads {}", "--num-threads: '{:.60}...' is not an int"),
    ],
)
def test_long_value_is_cut_off_in_errors(line: str, answer: str, run, here: Path) -> None:
    digits = "9" * 5000  # more than int() accepts
    error = run(*shlex.split(line.format(digits))).err.splitlines()[0]
    assert error.startswith(f"fastbpe: error: {answer.format(digits)}")
    assert len(error) < 160


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("count -m words.fpbe text.txt", ["words.fpbe: ", "did you mean words.fbpe?"]),
        ("count -m gpt4o text.txt", ["gpt4o: ", "did you mean gpt-4o?"]),
        ("count -m words.fbpe txet.txt", ["txet.txt: No such file or directory; did you mean text.txt?"]),
        ("show -m words.fbpe hello", ["hello: ", "if this is a text, not a file: fastbpe show --text hello"]),
        ("vocab -m words.fbpe low", ["low: ", "if this is a text, not a file: fastbpe vocab --text low"]),
        ("encode -m words.fbpe 'a b'", ["a b: ", "to read this text: echo 'a b' | fastbpe encode ..."]),
        ("train text.txt -o a.fbpe --vocab-size 9", ["--vocab-size 9 is too small: the 256 bytes need 256 ids"]),
        (
            "train text.txt -o a.fbpe --vocab-size 256 --special <e>",
            ["256 bytes and 1 special token need 257 ids"],
        ),
        (
            "train text.txt -o a.fbpe --vocab-size characters",
            ['--vocab-size characters works only with --mode codepoint, not "byte"'],
        ),
        (
            "train text.txt -o a.fbpe --vocab-size 300 --superwords boundless --base words.fbpe",
            ["pass --superwords auto, which learns superwords on top of a base"],
        ),
        (
            "train text.txt -o a.fbpe --vocab-size 300 --mode ids --base-size 3 --superwords 2",
            ["only with --mode byte"],
        ),
        ("train text.txt -o a.fbpe --vocab-size 300 --pattern cl100", ["did you mean 'cl100k'?"]),
        ("train text.txt -o words.fbpe --vocab-size 300", ["words.fbpe exists; --force replaces it"]),
    ],
)
def test_other_mistakes_are_answered_in_one_line(line: str, answers: list[str], run, here: Path) -> None:
    assert run(*shlex.split(line)).failed_with(*answers)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_link_without_a_file_is_not_suggested_itself(run, here: Path) -> None:
    for name, said in (("circle", "Too many levels of symbolic links"), ("nowhere", "No such file or directory")):
        Path(name).symlink_to("circle" if name == "circle" else "gone")
        done = run("count", "-m", "words.fbpe", name)
        assert done.failed_with(f"{name}: {said}")
        assert "did you mean" not in done.err


def test_advice_is_only_what_the_command_has(run, model, tmp_path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"x\xff")
    for command in ("count", "show", "compare", "encode"):
        assert run(command, "-m", model, bad).err.endswith("; convert it first\n")
    assert run("encode", "-m", model, bad, "-o", tmp_path / "a.bin").failed_with("pass --errors replace")
    assert run("train", bad, "-o", tmp_path / "a.fbpe", "--vocab-size", "257").failed_with("pass --errors replace")
    wrong = run("train", bad, "-o", tmp_path / "a.fbpe", "--vocab-size", "257", "--num-threads", "0")
    assert wrong.err.endswith("--num-threads 0: must be at least 1\n")


def test_merge_does_not_advise_an_option_of_other_commands(run, tmp_path) -> None:
    (tmp_path / "a.bin").write_bytes(b"ab")
    done = run("merge", tmp_path / "a.bin", "-o", tmp_path / "b.bin")
    assert done.failed_with("needs a.bin.json, which states the dtype of the ids; copy that file, too\n")


def test_skipped_documents_are_counted_in_the_result(run, tmp_path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"x\xff")
    (tmp_path / "good.txt").write_bytes(b"low low")
    skip = (tmp_path / "bad.txt", tmp_path / "good.txt", "--on-error", "skip")
    done = run("train", *skip, "-o", tmp_path / "a.fbpe", "--vocab-size", "257")
    assert done.err.endswith("learned from 7 bytes, 1 document skipped\n")
    assert run("count-pieces", *skip, "-o", tmp_path / "a.pieces").err.endswith("of text, 1 document skipped\n")


def test_limits_of_superwords_are_named_by_their_options(run, tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low low")
    wanted = ("--vocab-size", "999", "--superwords", "257", "--max-token-bytes", "5")
    done = run("train", tmp_path / "a.txt", "-o", tmp_path / "a.fbpe", *wanted)
    assert "--max-token-bytes 5, --superwords-max-words 4 and --superwords-forbid ': ' leave" in done.err


def test_negative_limit_of_words_names_its_option_and_the_value_without_limit(run, tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low low")
    wanted = ("--vocab-size", "999", "--superwords", "257", "--superwords-max-words", "-1")
    done = run("train", tmp_path / "a.txt", "-o", tmp_path / "a.fbpe", *wanted)
    assert done.failed_with("--superwords-max-words -1: must be at least 1, or 0 for no limit")


def test_advice_for_python_is_left_out(run, tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low low lower")
    options = ("--mode", "unigram", "--vocab-size", "10", "--quiet")
    assert run("train", tmp_path / "a.txt", "-o", tmp_path / "u.model", *options).status == 0
    done = run("train", tmp_path / "a.txt", "-o", tmp_path / "b.model", "--base", tmp_path / "u.model", *options)
    assert done.err.endswith("train a new tokenizer\n")


def test_bare_command_and_help_command_show_help(run) -> None:
    assert run() == run("--help") == run("help")
    assert run().status == 0
    assert b"usage: fastbpe COMMAND" in run().out
    assert run("help", "count") == run("count", "--help")


def test_help_lists_every_command_once_and_every_option_in_a_group(run) -> None:
    shown = run("--help").out.decode()
    for command in command_line.COMMANDS:
        assert shown.count(f"  {command.SUMMARY}\n") == 1
    for command in ("train", "encode", "vocab", "convert"):
        helped = run(command, "--help").out.decode()
        assert "\noutput:\n" in helped
        assert "\noptions:\n  -h, --help" in helped
        assert helped.startswith(f"usage: fastbpe {command} ")
        assert helped.splitlines()[1] == "", "the usage is one line"


def test_help_of_every_number_names_its_default() -> None:
    commands = next(one for one in command_line.make_parser()._actions if one.choices)
    assert commands.choices is not None
    silent = [
        f"{name} {action.option_strings[-1]}"
        for name, command in dict(commands.choices).items()
        for action in command._actions
        if action.type in (int, float) and not action.required and "default" not in str(action.help).lower()
    ]
    assert silent == ["train --base-size"], "with --mode ids, it or --base is required"


def test_lists_of_ids_are_decoded_as_python_and_json_print_them(run, model) -> None:
    tokenizer = fastbpe.load(model)
    ids = tokenizer.encode("low lower")
    for shown in (str(ids), json.dumps(ids), ",".join(map(str, ids)), f"[{' '.join(map(str, ids))}]\n"):
        assert run("decode", "-m", model, stdin=shown.encode()).out == b"low lower"
    lines = run("encode", "-m", model, "--lines", "--json", stdin=b"low\nlower\n").out
    assert [json.loads(line) for line in lines.splitlines()] == [
        tokenizer.encode("low"),
        tokenizer.encode("lower"),
    ]
    assert run("decode", "-m", model, "--lines", stdin=lines).out == b"low\nlower\n"


@pytest.mark.daily
def test_results_of_writing_commands_are_a_line_or_json(run, here: Path) -> None:
    lines = {
        "train text.txt -o a.fbpe --vocab-size 260": {"vocab_size": 260, "format": "native"},
        "encode -m words.fbpe text.txt -o a.bin": {"n_documents": 1},
        "merge a.bin -o b.npy": {"n_documents": 1},
        "count-pieces text.txt -o a.pieces": {"n_bytes": 800},
        "count-pieces a.pieces -o b.pieces": {"n_bytes": 800, "n_files": 1},
        "convert words.fbpe a.tiktoken": {"options": "--pattern cl100k --special '<|end|>=278' --special a=b=279"},
    }
    for line, facts in lines.items():
        output = next(word for word in reversed(line.split()) if word.startswith(("a.", "b.")))
        done = run(*line.split())
        assert (done.status, done.out, done.err.count("\n")) == (0, b"", 1)
        assert done.err.startswith(f"{output}: ")
        assert run(*line.split()).failed_with(f"{output} exists", "--force")
        assert run(*line.split(), "--force", "--quiet") == done.__class__(0, b"", "")
        told = json.loads(run(*line.split(), "--force", "--json").out)
        assert told["file"] == output
        assert facts.items() <= told.items(), told


def test_warnings_and_errors_name_options(run, here: Path) -> None:
    (here / "a.jsonl").write_text('{"body": "low"}\n')
    said = run("count", "-m", "words.fbpe", "a.jsonl").err
    assert "use --text-field to name" in said
    assert "text_field" not in said
    run("convert", "words.fbpe", "a.tiktoken", "--quiet")
    said = run("count", "-m", "a.tiktoken", "text.txt").err
    assert "or as a regex: --pattern, and its special tokens as --special; " in said


@pytest.mark.daily
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("command", ["count", "encode", "decode", "show", "compare", "train"])
def test_one_end_of_file_ends_standard_input_of_a_terminal(command: str, here: Path) -> None:
    import pty

    main, terminal = pty.openpty()
    flags = ["-o", "a.fbpe", "--vocab-size", "257"] if command == "train" else ["-m", "words.fbpe"]
    env = {**os.environ, "PYTHONPATH": str(Path(fastbpe.__file__).parents[1])}
    argv = [sys.executable, "-m", "fastbpe", command, *flags]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=terminal, stdout=pipe, stderr=pipe, env=env) as process:
        os.close(terminal)
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == b"fastbpe: reading standard input; Ctrl-D ends it\n"
            os.write(main, b"108 111\n\x04")
            assert process.wait(300) == 0, process.stderr.read()
        finally:
            process.kill()
            os.close(main)
