"""`fastbpe train` with texts that have names: --source, --weights, --parity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fastbpe

ENGLISH, GERMAN = "low lower lowest newest\nthe low\n", "neu neuer\n"
TEXTS = "--source en=en.txt --source de=de.txt"


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "en.txt").write_text(ENGLISH, encoding="utf-8")
    (tmp_path / "de.txt").write_text(GERMAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trained(**options: Any) -> fastbpe.Tokenizer:
    return fastbpe.train({"en": [ENGLISH], "de": [GERMAN]}, vocab_size=264, **options)


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("--weights de=5", {"weights": {"de": 5}}),
        ("--parity", {"parity": fastbpe.Parity()}),
        ("--parity --weights de=5", {"parity": fastbpe.Parity(), "weights": {"de": 5}}),
        ("--parity --ratio en=1 --ratio de=2.5", {"parity": fastbpe.Parity(ratio={"en": 1, "de": 2.5})}),
        (
            "--parity --dev en=de.txt --dev de=en.txt --window 3 --alpha 1 --global-merges 2",
            {"parity": fastbpe.Parity(dev={"en": [GERMAN], "de": [ENGLISH]}, window=3, alpha=1, global_merges=2)},
        ),
    ],
)
def test_flags_train_as_the_arguments_do(run, texts: Path, flags: str, options: dict[str, Any]) -> None:
    done = run("train", *TEXTS.split(), "--vocab-size", "264", "-o", "a.fbpe", *flags.split())
    assert done.status == 0
    assert done.err.startswith("a.fbpe: 264 tokens, learned from")
    expected = trained(**options)
    assert fastbpe.load("a.fbpe").vocab == expected.vocab
    assert fastbpe.load("a.fbpe").training_report == expected.training_report


def test_several_files_have_one_name_and_counts_are_taken(run, texts: Path) -> None:
    (texts / "more.txt").write_text("neue Neuerung", encoding="utf-8")
    for name in ("en", "de", "more"):
        assert run("count-pieces", f"{name}.txt", "-o", f"{name}.pieces", "--quiet").status == 0
    for kind in ("txt", "pieces"):
        sources = [f"--source={name}.{kind}" for name in ("x=en", "y=de", "y=more")]
        assert run("train", *sources, "--parity", "--vocab-size", "262", "-o", f"{kind}.fbpe").status == 0
    assert fastbpe.load("txt.fbpe").vocab == fastbpe.load("pieces.fbpe").vocab


@pytest.mark.parametrize("output", ["a.model", "a.fbpe"])
def test_mode_of_named_counts_is_the_default_for_every_format(run, texts: Path, output: str) -> None:
    for name in ("en", "de"):
        flags = f"-o {name}.pieces --mode codepoint --quiet"
        assert run("count-pieces", f"{name}.txt", *flags.split()).status == 0
    flags = f"--source en=en.pieces --source de=de.pieces --weights de=2 --vocab-size 24 -o {output} --quiet"
    done = run("train", *flags.split(), "--option", "byte_fallback=false")
    assert done.status == 0, done.err
    options: Any = {"vocab_size": 24, "mode": "codepoint"}
    assert fastbpe.load(output).vocab == fastbpe.train([ENGLISH, GERMAN, GERMAN], **options).vocab


def test_lines_and_code_points(run, texts: Path) -> None:
    flags = "--weights de=2 --mode codepoint --vocab-size 24 -o a.model --quiet --lines"
    assert run("train", *TEXTS.split(), *flags.split()).status == 0
    options: Any = {"vocab_size": 24, "mode": "codepoint"}
    assert fastbpe.load("a.model").vocab == fastbpe.train([ENGLISH, GERMAN, GERMAN], **options).vocab


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--weights en=2 --source=en=no.txt", "no.txt"),
        ("--source en=en.txt", "--source has no effect without --parity or --weights; add one"),
        ("en.txt --parity", "--parity needs named texts: --source en=en/"),
        ("en.txt --weights en=2", "--weights needs named texts"),
        (
            "en.txt --source en=en.txt --parity",
            "en.txt: unnamed files cannot be combined with --source; pass this one as --source NAME=en.txt, too",
        ),
        ("--source en=- --parity", "--source and --dev cannot read standard input (-)"),
        (
            "--source en=en.txt --weights en=2 --dev en=en.txt",
            "--dev has no effect without --parity; add --parity, or leave --dev out",
        ),
        ("--source en=en.txt --weights en=2 --global-merges 3", "--global-merges has no effect without --parity"),
        ("--source en=en.txt --weights en=2 --weights en=3", "--weights en=3: en is given twice"),
        ("--source en=en.txt --weights de=2", "--weights has 'de', which is not a source"),
        ("--source en=en.txt --weights en=0", "the weight of 'en' is 0"),
        ("--source en=en.txt --parity --window 0", "--window 0"),
        ("--source en=en.txt --parity --ties pair", "leave --ties out"),
        ("--source en=en.txt --parity --mode ids --base-size 3", "--mode ids, which learns from integers"),
        (
            "--source en=en.txt --parity --mode unigram",
            "--parity works only with --mode byte, not with --mode unigram; to weight a source, pass its items",
        ),
    ],
)
def test_flags_that_do_not_fit_are_named(run, texts: Path, flags: str, message: str) -> None:
    done = run("train", "-o", "a.fbpe", "--vocab-size", "260", *flags.split())
    assert done.failed_with(message)
    assert not Path("a.fbpe").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--source en", "'en': pass a name and a value, such as en=en/"),
        ("--weights en=x", "'en=x': 'x' is not an integer"),
        ("--ratio =1", "'=1': pass a name and a value, such as en=1.5"),
    ],
)
def test_values_without_name_are_wrong_usage(run, texts: Path, flags: str, message: str) -> None:
    done = run("train", "-o", "a.fbpe", "--vocab-size", "260", *flags.split())
    assert done.status == 2
    assert message in done.err
