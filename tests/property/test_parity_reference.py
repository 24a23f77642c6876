"""Compares parity-aware training with the specification, on random small texts full of ties."""

from __future__ import annotations

import random
import re
import warnings

import pytest

import fastbpe
from fastbpe import Parity
from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe._core.train.parity_learner import ParityLearner
from fastbpe.errors import TrainingWarning
from fastbpe.training.piece_counts import PieceCounts, table_of
from helpers.parity_cases import Case, random_case
from helpers.sampling import SEED, rounds

CHARACTERS = bytes_to_unicode()
PATTERN = r"\S+|\s+"


def byte_level_words(text: str) -> list[str]:
    return ["".join(CHARACTERS[byte] for byte in word.encode()) for word in re.findall(PATTERN, text)]


def trained(case: Case, **options: object) -> fastbpe.Tokenizer:
    """Train fastbpe on a case."""
    names = [f"language {i}" for i in range(len(case.languages))]
    parity = Parity(
        dev=None if case.dev is None else dict(zip(names, map(iter, case.dev), strict=True)),
        ratio=None if case.ratio is None else dict(zip(names, case.ratio, strict=True)),
        window=case.window,
        alpha=None if case.window is None else case.alpha,
        global_merges=case.global_merges,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return fastbpe.train(
            dict(zip(names, map(iter, case.languages), strict=True)),
            vocab_size=256 + case.n_merges,
            pattern=PATTERN,
            min_count=case.min_count,
            max_token_bytes=case.max_length,
            parity=parity,
            **options,  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("seed", rounds(400, 4000))
def test_random_languages_train_as_specified(seed: int) -> None:
    case = random_case(random.Random(f"{SEED} parity {seed}"), may_be_empty=False)
    steps = case.twin(byte_level_words).steps
    bytes_of = {character: byte for byte, character in CHARACTERS.items()}
    expected = [bytes(bytes_of[character] for character in step.left + step.right) for step in steps]
    tokenizer = trained(case)
    report = tokenizer.training_report
    assert tokenizer.vocab[256:] == expected
    assert [one["n_merges"] for one in report["languages"].values()] == [
        sum(step.language == i for step in steps) for i in range(len(case.languages))
    ]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_and_order_of_documents_change_nothing(n_threads: int) -> None:
    rng = random.Random(f"{SEED} parity in any order")
    texts = {"x": ["bab bb abc"] * 5 + ["cab " * 9, "aab"], "y": ["xyz yz " * 3, "zzz", "xzy" * 4]}
    dev = {"x": ["a cab bab", "bcb"], "y": ["yxz zyz", "zzzz"]}
    mixed, mixed_dev = ({name: rng.sample(some, len(some)) for name, some in all.items()} for all in (texts, dev))
    options = {"window": 3, "alpha": 1.0, "global_merges": 2}
    first = fastbpe.train(texts, vocab_size=270, parity=Parity(dev=dev, **options), num_threads=1)
    second = fastbpe.train(mixed, vocab_size=270, parity=Parity(dev=mixed_dev, **options), num_threads=n_threads)
    assert first.vocab == second.vocab
    assert first.training_report["languages"] == second.training_report["languages"]


@pytest.mark.parametrize("n", range(1, 40))
def test_symbols_of_runs_are_counted(n: int) -> None:
    """Occurrences of a pair overlap in a run, but are not all merged."""
    for words in ([b"a" * n], [b"ab" * n, b"a" * n], [b"a" * n, b"aab" * n]):
        for n_merges in range(6):
            table = table_of(PieceCounts((word, 1) for word in words))
            learner = ParityLearner([table], [bytes([i]) for i in range(256)], n_merges=n_merges)
            learner.learn()
            tokens = [bytes([i]) for i in range(256)]
            ids = [[*word] for word in words]
            for left, right, _ in learner.merges():
                ids = [merged(word, left, right, len(tokens)) for word in ids]
                tokens.append(tokens[left] + tokens[right])
            assert learner.n_symbols() == [sum(map(len, ids))], (words, n_merges)


def merged(ids: list[int], left: int, right: int, new: int) -> list[int]:
    made: list[int] = []
    for symbol in ids:
        if symbol == right and made and made[-1] == left:
            made[-1] = new
        else:
            made.append(symbol)
    return made
