"""Suggestions for misspelt names: of choices everywhere, and of flags and commands on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe._utils.suggestions import nearest
from fastbpe.cli import main

CHARACTERS = Tokenizer.from_merges([(97, 98)], pattern=None)
POINTS = fastbpe.train(["ab ab"], vocab_size="characters", mode="codepoint", progress=False)


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("SHOW", ["shown", "show"], ["show"]),
        ("min-count", ["min_count", "count"], ["min_count"]),
        ("size", ["base_size", "size_limit", "mode"], ["size_limit", "base_size"]),
        ("one2", ["one1", "one3"], []),
        ("pt", ["gpt2"], []),
        ("gpt-x9", ["gpt"], []),
        ("", ["show"], []),
        ("--", ["show"], []),
        (None, ["none"], []),
        ("show" * 1000, ["show"], []),
    ],
)
def test_nearest_names_are_found(name: object, known: list[str], found: list[str]) -> None:
    assert nearest(name, known) == found


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: fastbpe.train(["a"], vocab_size=257, ties="pairs"), "'pair'"),
        (lambda: fastbpe.train(["a"], vocab_size=257, ties="hugging_face"), "'huggingface'"),
        (lambda: fastbpe.train(["a"], vocab_size=257, mode="bytes"), "'byte'"),
        (lambda: fastbpe.train(["a"], vocab_size=257, errors="Strict"), "'strict'"),
        (lambda: fastbpe.train(["a"], vocab_size=257, on_error="raises"), "'raise'"),
        (lambda: fastbpe.train(["a"], vocab_size=257, progression=True), "progress"),
        (lambda: fastbpe.count_pieces(["a"], mode="code_point"), "'codepoint'"),
        (
            lambda: fastbpe.train(["a"], vocab_size=9, mode="codepoint", normalization_rule_name="nfkc-cf"),
            "'nfkc_cf'",
        ),
        (lambda: CHARACTERS.export("x.json", format="hugging-face"), "'huggingface'"),
        (lambda: POINTS.export("x.model", format="sentence-piece"), "'sentencepiece'"),
        (lambda: CHARACTERS.truncate("ab", 1, side="rght"), "'right'"),
        (lambda: CHARACTERS.truncate("ab", 1, boundary="words"), "'word'"),
        (lambda: [*CHARACTERS.chunk("ab", 1, boundary="sentences")], "'sentence'"),
        (lambda: CHARACTERS.conversation().truncate_to(1, side="lefty"), "'left'"),
        (lambda: CHARACTERS.encode_with_offsets("ab", unit="chars"), "'char'"),
        (lambda: CHARACTERS.decode([1], unknown_ids="skipped"), "'skip'"),
        (lambda: fastbpe.install("tiktokens"), "tiktoken"),
    ],
)
def test_error_for_a_misspelt_choice_suggests_the_nearest(call: Callable[[], Any], meant: str) -> None:
    with pytest.raises(ValueError, match="did you mean") as error:
        call()
    assert f"did you mean {meant}?" in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("shaw", "there is no command 'shaw'; did you mean show?"),
        ("count_pieces", "there is no command 'count_pieces'; did you mean count-pieces?"),
        ("train --vocab_size 300", "there is no option --vocab_size; did you mean --vocab-size?"),
        ("encode --modle x", "there is no option --modle; did you mean --model?"),
        ("encode --modle=x", "there is no option --modle; did you mean --model?"),
        ("show -m x --zzz", "there is no option --zzz; `fastbpe show --help` lists them"),
        ("--verson", "there is no option --verson; did you mean --version?"),
        (
            "train --mode codepiont",
            "--mode codepiont: did you mean codepoint? choose one of byte, codepoint, unigram, ids",
        ),
    ],
)
def test_command_line_suggests_the_nearest_flag_or_command(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    assert stopped.value.code == 2
    assert capsys.readouterr().err.splitlines()[0] == f"fastbpe: error: {message}"


def test_values_that_look_like_flags_are_no_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "-m", "absent-model", "--", "--zzz"]) == 1  # a file of this name is not there
    assert "there is no option" not in capsys.readouterr().err
