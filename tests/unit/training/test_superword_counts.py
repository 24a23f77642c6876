"""Counts of runs of a base's tokens, from which superwords are learned on top of the base."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PieceCounts, Superwords, Tokenizer, TrainingError, TrainingWarning, count_pieces, train
from fastbpe.cli.command_line import main
from helpers.sampling import SEED, n_rounds

TEXTS = ["in the end of the day, the end of the week: the end\n"] * 5 + ["of the end<|x|>of the end\nof the day"]
WORDS = r" ?[a-z]+|\s+|[^a-z\s]+"
PATTERNS = ["superbpe_lines", r"[,:.]+", None]


def learned(source: Any, base: Tokenizer, vocab_size: Any = "+10", **options: Any) -> Tokenizer:
    options = {"superwords": Superwords(), "progress": False, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return train(source, vocab_size=vocab_size, base=base, **options)


@pytest.fixture(scope="module")
def base() -> Tokenizer:
    return train(count_pieces(TEXTS, special_tokens=["<|x|>"]), vocab_size=270)


def test_runs_of_parts_train_the_tokenizer_of_the_whole(tmp_path: Path) -> None:
    for number in range(n_rounds(60, 2000)):
        rng = random.Random(f"token runs {SEED} {number}")
        letters = rng.choice(["aab  ,\n", "ab .: ", "a \n", "abc1 é"])
        parts = ["".join(rng.choices(letters, k=rng.randint(1, 300))) for _ in range(rng.randint(1, 4))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            words = train(
                iter(parts), vocab_size=257 + rng.choice([0, 3, 12]), pattern=WORDS, special_tokens=["<|x|>"]
            )
        options: dict[str, Any] = {
            "superwords": Superwords(
                pattern=rng.choice(PATTERNS),
                documents=rng.choice(["lines", "whole"]),
                max_words=rng.choice([None, 2, 4]),
            ),
            "min_count": rng.choice([1, 1, 2]),
            "vocab_size": f"+{rng.choice([1, 5, 20])}",
        }
        counted = [
            count_pieces(
                iter([part]), base=words, superwords=options["superwords"], max_memory_bytes=rng.choice([None, 1])
            )
            for part in parts
        ]
        folder = tmp_path / str(number)
        folder.mkdir()
        for i, counts in enumerate(counted):
            counts.save(folder / f"{i}.pieces")
        PieceCounts.merge(folder, folder / "all")
        merged = PieceCounts.load(folder / "all")
        assert merged == sum(counted) == pickle.loads(pickle.dumps(merged)), (SEED, number)
        expected = learned(iter(parts), words, **options)
        made = learned(merged, words, **options)
        assert made.vocab == expected.vocab, (SEED, number, parts)
        assert made.fingerprint == expected.fingerprint, (SEED, number)


def test_runs_are_a_part_of_the_memory_of_lines(base: Tokenizer) -> None:
    runs = count_pieces(TEXTS, base=base, superwords=Superwords())
    assert len(runs) == 4  # lines, and the parts beside a special token; equal lines count together
    assert (runs.mode, runs.n_bytes, runs.pattern) == ("byte", sum(map(len, TEXTS)), Superwords().pattern)
    assert runs.special_tokens == ("<|x|>",)


def test_multiplied_runs_are_weights(base: Tokenizer) -> None:
    first, second = (count_pieces(texts, base=base, superwords=Superwords()) for texts in (TEXTS[:1], TEXTS[5:]))
    assert learned(3 * first + second, base).vocab == learned([*TEXTS[:3], TEXTS[5]], base).vocab


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda base, runs: count_pieces(TEXTS, superwords=Superwords()), "pass the tokenizer as base="),
        (
            lambda base, runs: count_pieces(TEXTS, base=base, superwords=Superwords(), pattern="gpt2"),
            "leave pattern=",
        ),
        (lambda base, runs: count_pieces(runs, base=base, superwords=Superwords()), "needs the texts"),
        (lambda base, runs: count_pieces(TEXTS, base=base, superwords=Superwords(280)), "leave start out"),
        (lambda base, runs: train(runs, vocab_size=280, superwords=Superwords()), "pass it as base="),
        (lambda base, runs: learned(runs, train(TEXTS, vocab_size=260)), "pass it as base="),
        (lambda base, runs: learned(runs, base, superwords=Superwords(documents="whole")), "with which they were"),
        (lambda base, runs: learned(runs, base, superwords=Superwords(pattern=None)), "with which they were"),
        (lambda base, runs: learned(runs, base, special_tokens=["<|y|>"]), "with_special_tokens"),
        (lambda base, runs: learned(runs, base, superwords="boundless"), "runs of the words of a tokenizer"),
        (lambda base, runs: train(runs, vocab_size=280), "runs of words"),
        (lambda base, runs: runs + count_pieces(TEXTS, base=base), "cannot combine"),
        (
            lambda base, runs: runs + count_pieces(TEXTS, base=base, superwords=Superwords(documents="whole")),
            "different word tokenizers",
        ),
        (
            lambda base, runs: count_pieces(TEXTS, base=learned(TEXTS, base), superwords=Superwords()),
            "already has",
        ),
    ],
)
def test_counts_that_do_not_fit_are_named(
    make: Callable[[Tokenizer, PieceCounts], Any], message: str, base: Tokenizer
) -> None:
    runs = count_pieces(TEXTS, base=base, superwords=Superwords())
    with pytest.raises(TrainingError, match=message):
        make(base, runs)


def test_the_commands_count_runs_and_learn_from_them(
    base: Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base.save(tmp_path / "base.fbpe")
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_text(text)
    texts, runs = [str(tmp_path / f"{i}.txt") for i in range(len(TEXTS))], str(tmp_path / "all.runs")
    common = ["--base", str(tmp_path / "base.fbpe"), "--superwords", "auto"]
    assert main(["count-pieces", *texts, "-o", runs, *common]) == 0
    assert "distinct runs of words" in capsys.readouterr().err
    assert main(["train", runs, "-o", str(tmp_path / "made.fbpe"), "--vocab-size", "+10", *common]) == 0
    assert fastbpe.load(tmp_path / "made.fbpe").vocab == learned(TEXTS, base).vocab
    assert main(["count-pieces", *texts, "-o", runs, "--force", "--superwords", "auto"]) == 1
    assert "--base" in capsys.readouterr().err
