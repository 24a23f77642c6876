"""Training of fastbpe.tokenizers by itself beside tokenizers: the same vocabularies, merges and errors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

from fastbpe.tokenizers import own
from helpers.sampling import SEED, n_rounds
from helpers.shared_data import standard_library
from helpers.tokenizer_json import random_text
from helpers.tokenizers_twins import outcome


def pre_tokenizer(module: Any, number: int) -> Any:
    steps = module.pre_tokenizers
    return [
        lambda: steps.ByteLevel(),
        lambda: steps.ByteLevel(add_prefix_space=False),
        lambda: steps.Sequence([steps.Digits(True), steps.ByteLevel(add_prefix_space=False)]),
        lambda: steps.Sequence(
            [steps.Split(module.Regex(r"\s+"), "removed"), steps.ByteLevel(False, use_regex=False)]
        ),
    ][number]()


def random_options(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "vocab_size": rng.choice([0, 5, 30, 60, 100, 300]),
        "min_frequency": rng.choice([0, 0, 1, 2, 3]),
        "special_tokens": rng.choice([[], ["<s>"], ["<s>", "[PAD]", "<s>"]]),
        "show_progress": False,
    }
    if rng.random() < 0.3:
        options["initial_alphabet"] = rng.choice([own.pre_tokenizers.ByteLevel.alphabet(), ["é", "ab", "z", ""]])
    if rng.random() < 0.3:
        options["max_token_length"] = rng.choice([0, 1, 2, 3, 4, 6])
    return options


def trained(module: Any, texts: Any, options: dict[str, Any], steps: int = 0, form: str | None = None) -> Any:
    tokenizer = module.Tokenizer(module.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer(module, steps)
    if form is not None:
        tokenizer.normalizer = getattr(module.normalizers, form)()
    tokenizer.train_from_iterator(texts, module.trainers.BpeTrainer(**options))
    return tokenizer


@pytest.mark.parametrize("seed", range(n_rounds(25, 300, 3000)))
def test_random_trainings_learn_the_same(seed: int) -> None:
    rng = random.Random(f"{SEED} training {seed}")
    texts: list[Any] = [random_text(rng) * rng.randint(1, 3) for _ in range(rng.randint(0, 30))]
    if rng.random() < 0.3:
        texts = [texts[:5], *texts[5:]]
    options, steps, form = random_options(rng), rng.randrange(4), rng.choice([None, "NFC", "Lowercase"])
    ours, theirs = (outcome(lambda m=m: trained(m, texts, options, steps, form).to_str()) for m in (own, stock))
    if ours is not ImportError:  # a special token was learned as well
        assert ours == theirs


def test_standard_library_is_learned_the_same() -> None:
    texts = standard_library(300_000).splitlines(keepends=True)
    options = {"vocab_size": 1500, "special_tokens": ["<|end|>"], "show_progress": False}
    made = [trained(module, texts, options, 1) for module in (own, stock)]
    assert made[0].to_str() == made[1].to_str()
    assert made[0].encode(texts[9]).ids == made[1].encode(texts[9]).ids


def test_files_are_learned_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat\n\nsat on\r\nthe mat", newline="")
    (tmp_path / "b.txt").write_text("é the cat\n")
    told = []
    for module in (own, stock):
        tokenizer = module.Tokenizer(module.models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = module.pre_tokenizers.ByteLevel()
        trainer = module.trainers.BpeTrainer(vocab_size=60, show_progress=False, special_tokens=["<unk>"])
        for _ in range(2):  # the second training replaces what the first has learned
            tokenizer.train([str(tmp_path / name) for name in ("a.txt", "b.txt")], trainer)
        told.append(tokenizer.to_str())
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": -1},
        {"vocab_size": "a"},
        {"special_tokens": [5]},
        {"special_tokens": "ab"},
        {"initial_alphabet": "abc"},
        {"initial_alphabet": [5]},
        {"min_frequency": -1},
        {"show_progress": 1},
    ],
)
def test_bad_options_raise_what_the_original_raises(options: dict[str, Any]) -> None:
    ours, theirs = (outcome(lambda m=m: m.trainers.BpeTrainer(**options)) for m in (own, stock))
    assert issubclass(ours, theirs)


@pytest.mark.parametrize("texts", [[5], 5, ["a", None], [[5]], ["\ud800"]])
def test_bad_texts_raise_what_the_original_raises(texts: Any) -> None:
    ours, theirs = (outcome(lambda m=m: trained(m, texts, {"show_progress": False})) for m in (own, stock))
    assert isinstance(theirs, type)
    assert issubclass(ours, theirs)


def test_attributes_of_trainers_equal_the_original() -> None:
    options = {"vocab_size": 300, "special_tokens": ["<s>"], "initial_alphabet": ["ab"], "max_token_length": 4}
    ours, theirs = (module.trainers.BpeTrainer(**options) for module in (own, stock))
    for name in dir(theirs):
        if not name.startswith("_") and name != "get_word_count":
            assert repr(getattr(ours, name)) == repr(getattr(theirs, name))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"limit_alphabet": 5}, "limit_alphabet"),
        ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix"),
        ({"special_tokens": ["a"]}, "a special token of one character"),
    ],
)
def test_trainers_that_only_the_original_has_say_what_to_install(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ImportError, match=rf"{named} .*pip install 'tokenizers"):
        trained(own, ["a"], options)
    tokenizer = own.Tokenizer(own.models.BPE())
    with pytest.raises(ImportError, match=r"without the pre-tokenizer ByteLevel .*pip install 'tokenizers"):
        tokenizer.train_from_iterator(["a"])
