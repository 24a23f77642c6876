"""Parity-aware training against ParityBpeTrainer of tokenizers: equal merges; weights against repeated texts."""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Iterable
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import json

import tokenizers as stock

import fastbpe
from fastbpe import Parity, TrainingWarning
from fastbpe.formats.byte_level import text_of
from helpers.parity_cases import Case, random_case
from helpers.sampling import SEED, rounds
from helpers.shared_data import data_file

Texts = list[list[str]]
#: Merges that tokenizers 0.23.3 learns from the texts of `known_texts`.
KNOWN = (
    "ã|ĥ ã|Ĥ Ġ|Ġ ã|ģ Ġ|ì k|u Ġ|ë ì|Ŀ h|i d|i l|a ĠĠ|ĠĠ m|u n|g Ġ|n ³|ãĥ w|a k|a ãģ|® h|a í|ķ t|u m|a "
    "ë|ĭ Ġ|ê Ġ|ku Ġ|mu ì|§ Ð|° Ġ|c ìĿ|´ ãģ|Ļ w|e k|e i|n n|tu Ġ|Ð ëĭ|¤ ê|³ ãĥ|ª ãĤ|Ĵ ì|Ĺ ë|Ĭ j|i ëĬ|Ķ "
    "a|ku ãĤ|³ãĥ ì§|Ģ ĠĠĠĠ|ĠĠ }|} {|{ Ġ|{{ ê|° e|la ķ|Ħ ãĥ|³ãĥ ê³|ł ãĤ|¤ í|Ļ .|. "
)


def named(values: Any) -> Any:
    return None if values is None else {f"language {i}": value for i, value in enumerate(values)}


def trained(
    languages: Texts, dev: Texts | None, vocab_size: int, weights: Any = None, **options: Any
) -> list[str]:
    """Return the merges of fastbpe as tokenizers lists them."""
    names = ("ratio", "window", "alpha", "global_merges")
    parity = Parity(
        dev=named(dev and map(iter, dev)), **{name: options.pop(name) for name in names if name in options}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        made = fastbpe.train(
            named(map(iter, languages)),
            vocab_size=vocab_size,
            pattern="gpt2",
            parity=parity,
            weights=weights,
            **options,
        )
    return [text_of(token) for token in made.vocab[256:]]


def theirs(languages: Texts, dev: Texts | None, **options: Any) -> list[str]:
    options = {"show_progress": False, **options}
    tokenizer = stock.Tokenizer(stock.models.BPE())
    tokenizer.pre_tokenizer = stock.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = stock.trainers.ParityBpeTrainer(**options)
    trainer.train_from_iterator(tokenizer, [*map(iter, languages)], None if dev is None else [*map(iter, dev)])
    return ["".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def words(text: str) -> Iterable[str]:
    return [word for word, _ in stock.pre_tokenizers.ByteLevel(False).pre_tokenize_str(text)]


def random_training(seed: int) -> Case:
    """Return a case at which tokenizers ends."""
    rng = random.Random(f"{SEED} parity beside tokenizers {seed}")
    while (case := random_case(rng, may_be_empty=False)).twin(words).is_endless:
        pass
    return case


@pytest.mark.parametrize("seed", rounds(300, 3000))
def test_random_languages_train_as_tokenizers(seed: int) -> None:
    case = random_training(seed)
    windows = {} if case.window is None else {"window": case.window, "alpha": case.alpha}
    found = trained(
        case.languages,
        case.dev,
        256 + case.n_merges,
        ratio=named(case.ratio),
        global_merges=case.global_merges,
        min_count=case.min_count,
        max_token_bytes=case.max_length,
        **windows,
    )
    assert found == theirs(case.languages, case.dev, **case.of_tokenizers()), case


@pytest.mark.parametrize("seed", rounds(30, 300))
def test_weights_are_repetitions_for_tokenizers(seed: int) -> None:
    case = random_training(seed)
    weights = [random.Random(seed + i).randint(1, 5) for i in range(len(case.languages))]
    repeated = [texts * weight for texts, weight in zip(case.languages, weights, strict=True)]
    options: Any = {"global_merges": case.n_merges // 2}
    found = trained(case.languages, case.dev, 256 + case.n_merges, named(weights), **options)
    assert found == theirs(repeated, case.dev, num_merges=case.n_merges, **options)


def known_texts(from_char: int, n: int, digests: list[str]) -> Texts:
    found = []
    for name, digest in zip(("english.txt", "multilingual.txt"), digests, strict=True):
        text = data_file("corpus", name).read_text(encoding="utf-8")[from_char : from_char + n]
        assert hashlib.sha256(text.encode()).hexdigest().startswith(digest)
        found.append(text.split("\n"))
    return found


@pytest.mark.daily
def test_known_merges() -> None:
    languages = known_texts(0, 20_000, ["becc4c57d60b", "c87c642f3ce3"])
    dev = known_texts(30_000, 4_000, ["f1b5b4bf635a", "c3c28e4322b9"])
    assert trained(languages, dev, 256 + 60) == KNOWN.replace("|", "").split()


@pytest.mark.daily
def test_real_texts_train_as_tokenizers() -> None:
    names = ("english.txt", "multilingual.txt", "french_entre_nous.txt")
    languages = [data_file("corpus", name).read_text(encoding="utf-8")[:300_000].split("\n") for name in names]
    dev = [lines[::7] for lines in languages]
    for options in ({}, {"window": 20, "alpha": 1.0, "global_merges": 100}):
        window = {"variant": "window", "window_size": 20} if options else {}
        found = trained(languages, dev, 256 + 1500, **options)
        others = {name: value for name, value in options.items() if name != "window"} | window
        assert found == theirs(languages, dev, num_merges=1500, **others)
