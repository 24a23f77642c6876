"""Training of fastbpe.tokenizers against tokenizers: the same vocabularies, merges and errors."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe import FormatError
from fastbpe.tokenizers import learning
from helpers.sampling import SEED, rounds
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
        lambda: None,
        lambda: steps.Whitespace(),
        lambda: steps.WhitespaceSplit(),
        lambda: steps.BertPreTokenizer(),
        lambda: steps.Metaspace(),
        lambda: steps.Metaspace(prepend_scheme="first", split=False),
        lambda: steps.Split("a", "merged_with_next"),
        lambda: steps.Sequence([steps.Punctuation(), steps.Digits()]),
        lambda: steps.Sequence([steps.WhitespaceSplit(), steps.ByteLevel()]),  # a space before each word
        lambda: steps.Sequence([steps.ByteLevel(), steps.ByteLevel()]),  # bytes of bytes
        lambda: steps.Sequence([steps.UnicodeScripts(), steps.FixedLength(3)]),
        lambda: steps.CharDelimiterSplit(" "),
    ][number]()


N_STEPS = 16


def random_options(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "vocab_size": rng.choice([0, 5, 30, 60, 100, 300]),
        "min_frequency": rng.choice([0, 0, 1, 2, 3]),
        "special_tokens": rng.choice([[], ["<s>"], ["<s>", "[PAD]", "<s>"]]),
        "show_progress": False,
    }
    if rng.random() < 0.3:
        options["initial_alphabet"] = rng.choice([face.pre_tokenizers.ByteLevel.alphabet(), ["é", "ab", "z", ""]])
    if rng.random() < 0.2:
        options["special_tokens"] = rng.sample(
            ["ab", "a", "th", "Ġa", "é", "▁a", "aa", "b a", ""], rng.randint(1, 4)
        )
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


@pytest.mark.parametrize("seed", rounds(25, 3000))
def test_random_trainings_learn_the_same(seed: int) -> None:
    rng = random.Random(f"{SEED} training {seed}")
    texts: list[Any] = [random_text(rng) * rng.randint(1, 3) for _ in range(rng.randint(0, 30))]
    if rng.random() < 0.3:
        texts = [texts[:5], *texts[5:]]
    options, steps = random_options(rng), rng.randrange(N_STEPS)
    form = rng.choice([None, None, "NFC", "Lowercase", "BertNormalizer", "Strip"])
    ours, theirs = (outcome(lambda m=m: trained(m, texts, options, steps, form).to_str()) for m in (face, stock))
    assert ours == theirs, (options, steps, form)


@pytest.mark.parametrize("seed", rounds(20, 2000))
def test_added_tokens_of_the_tokenizer_are_words_of_their_own(seed: int) -> None:
    rng = random.Random(f"{SEED} training with added tokens {seed}")
    texts = ["".join(rng.choices(["a", "b", "<s>", "é", "AB", " ", "c"], k=rng.randint(0, 15))) for _ in range(12)]
    flags = [
        {flag: rng.random() < 0.3 for flag in ("lstrip", "rstrip", "single_word", "normalized")} for _ in range(4)
    ]
    special, splits, steps = rng.random() < 0.5, rng.random() < 0.3, rng.randrange(N_STEPS)
    form = rng.choice([None, "NFD", "Lowercase", "Strip"])

    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({"c": 0}, []))
        tokenizer.pre_tokenizer = pre_tokenizer(module, steps)
        if form is not None:
            tokenizer.normalizer = getattr(module.normalizers, form)()
        tokens = [module.AddedToken(one, **each) for one, each in zip(["<s>", "ab", "é", "c"], flags, strict=True)]
        tokenizer.add_tokens(tokens[1:])
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(tokens[:1])
        tokenizer.encode_special_tokens = splits
        tokenizer.train_from_iterator(texts, module.trainers.BpeTrainer(vocab_size=25, show_progress=False))
        return tokenizer.model.__getstate__(), [tokenizer.encode(text).tokens for text in texts[:3]]

    assert outcome(lambda: made(face)) == outcome(lambda: made(stock)), (
        texts,
        flags,
        special,
        splits,
        steps,
        form,
    )


def affix_options(prefix: str | None, suffix: str | None) -> dict[str, str]:
    options = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
    return {key: value for key, value in options.items() if value is not None}


def flat(texts: list[Any]) -> str:
    return "".join(text if isinstance(text, str) else "".join(text) for text in texts)


@pytest.mark.parametrize("seed", rounds(25, 3000))
def test_prefixes_and_suffixes_are_learned_the_same(seed: int) -> None:
    """Special tokens set the order of the characters with prefix or suffix, which is random in the original."""
    rng = random.Random(f"{SEED} training with affixes {seed}")
    texts: list[Any] = [
        "".join(rng.choices("aabbcd é漢12", k=rng.randint(0, 12))) for _ in range(rng.randint(1, 20))
    ]
    prefix, suffix = rng.choice([("##", None), (None, "</w>"), ("#", "!"), ("", ""), ("é", "")])
    form = rng.choice([None, "NFD"])
    characters = sorted({*flat(texts), *"e\u0301▁"})
    spelled = [
        f"{before}{one}{behind}"
        for one in characters
        for before in ("", prefix or "")
        for behind in ("", suffix or "")
    ]
    special = [*dict.fromkeys(spelled)]
    rng.shuffle(special)
    options = random_options(rng)
    options |= {"special_tokens": special, **affix_options(prefix, suffix)}
    options["vocab_size"] = len(special) + rng.choice([0, 3, 10, 50])
    steps = rng.choice([5, 6, 8])
    ours, theirs = (outcome(lambda m=m: trained(m, texts, options, steps, form).to_str()) for m in (face, stock))
    assert ours == theirs, (options, steps, form)


@pytest.mark.parametrize("word", ["abcabcab", "aaaaaaa", "abab", "a"])
@pytest.mark.parametrize("affixes", [("##", None), (None, "</w>"), ("#", "!")])
def test_one_word_gives_its_characters_the_same_ids(word: str, affixes: tuple[str | None, str | None]) -> None:
    options = {"vocab_size": 30, "show_progress": False, **affix_options(*affixes)}
    made = [trained(module, [word] * 3, options, 6) for module in (face, stock)]
    assert made[0].to_str() == made[1].to_str()
    assert made[0].encode(word).tokens == made[1].encode(word).tokens


@pytest.mark.parametrize("limit", range(6))
def test_alphabet_is_limited_to_the_frequent_characters(limit: int) -> None:
    texts = ["a" * 9 + "b" * 7 + "c" * 5 + "é" * 3 + "d", "abc cab"]
    for initial in ([], ["q"], ["é", "zz"]):
        if limit < len(initial):
            continue  # which of them stay is random in the original
        options = {"limit_alphabet": limit, "initial_alphabet": initial, "vocab_size": 20, "show_progress": False}
        made = [trained(module, texts, options, 5).to_str() for module in (face, stock)]
        assert made[0] == made[1]


def test_of_equally_frequent_characters_the_first_ones_are_kept() -> None:
    options = {"limit_alphabet": 2, "vocab_size": 20, "show_progress": False}
    assert trained(face, ["dcba"], options, 5).get_vocab() == {"a": 0, "b": 1, "ba": 2}


@pytest.mark.parametrize("steps", [0, 4, 6])
def test_the_core_learns_merges_that_make_special_tokens(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_Learner", None)
    for special in (["the", "<s>"], ["at", "th", "he"], ["cat", "c", "Ġth"]):
        for size in (15, 20, 30, 60):
            options = {"vocab_size": size, "special_tokens": special, "show_progress": False}
            texts = ["the cat <s> sat", "at the hat <s>"]
            made = [trained(module, texts, options, steps).to_str() for module in (face, stock)]
            assert made[0] == made[1], options


@pytest.mark.parametrize("seed", rounds(10, 1000))
def test_tokens_that_are_made_twice_are_learned_the_same(seed: int) -> None:
    rng = random.Random(f"{SEED} training twice {seed}")
    texts = ["".join(rng.choices("ab", k=rng.randint(1, 40))) for _ in range(rng.randint(1, 12))]
    options = {
        "vocab_size": 200,
        "special_tokens": rng.sample(["ab", "aab", "bb", "abab", "ba"], 2),
        "show_progress": False,
    }
    if rng.random() < 0.3:
        options["max_token_length"] = rng.choice([3, 5, 8])
    made = [trained(module, texts, options, 4).to_str() for module in (face, stock)]
    assert made[0] == made[1], (texts, options)


@pytest.mark.daily
def test_standard_library_is_learned_the_same() -> None:
    texts = standard_library(300_000).splitlines(keepends=True)
    options = {"vocab_size": 1500, "special_tokens": ["<|end|>"], "show_progress": False}
    made = [trained(module, texts, options, 1) for module in (face, stock)]
    assert made[0].to_str() == made[1].to_str()
    assert made[0].encode(texts[9]).ids == made[1].encode(texts[9]).ids


def test_files_are_learned_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat\n\nsat on\r\nthe mat", newline="")
    (tmp_path / "b.txt").write_text("é the cat\n")
    told = []
    for module in (face, stock):
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
    ours, theirs = (outcome(lambda m=m: m.trainers.BpeTrainer(**options)) for m in (face, stock))
    assert issubclass(ours, theirs)


@pytest.mark.parametrize("texts", [[5], 5, ["a", None], [[5]], ["\ud800"]])
def test_bad_texts_raise_what_the_original_raises(texts: Any) -> None:
    ours, theirs = (outcome(lambda m=m: trained(m, texts, {"show_progress": False})) for m in (face, stock))
    assert isinstance(theirs, type)
    assert issubclass(ours, theirs)


def test_attributes_of_trainers_equal_the_original() -> None:
    options = {"vocab_size": 300, "special_tokens": ["<s>"], "initial_alphabet": ["ab"], "max_token_length": 4}
    ours, theirs = (module.trainers.BpeTrainer(**options) for module in (face, stock))
    for name in dir(theirs):
        if not name.startswith("_") and name != "get_word_count":
            assert repr(getattr(ours, name)) == repr(getattr(theirs, name))


def told(capfd: pytest.CaptureFixture[str], module: Any, **options: Any) -> str:
    """Train with a trainer of the module, and return what it wrote to stderr."""
    tokenizer = module.Tokenizer(module.models.BPE())
    tokenizer.pre_tokenizer = module.pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(["a cat sat"] * 9, module.trainers.BpeTrainer(vocab_size=20, **options))
    return capfd.readouterr().err


def test_progress_format_chooses_what_is_written_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    for module in (face, stock):
        lines = [json.loads(line) for line in told(capfd, module, progress_format="json").splitlines()]
        assert lines
        assert all(line.keys() == {"stage", "current", "total"} for line in lines)
        assert told(capfd, module, progress_format="silent") == ""
        assert told(capfd, module, progress_format="json", show_progress=False)
        assert told(capfd, module, show_progress=False) == ""


def test_special_token_that_training_gives_another_id_is_still_skipped() -> None:
    """The second training makes an ordinary token of c: tokenizers skips it, because it compares contents."""
    texts = []
    for module in (stock, face):
        tokenizer = module.Tokenizer(module.models.BPE())
        for token, text in (("c", "ab"), ("x", "abc")):
            trainer = module.trainers.BpeTrainer(special_tokens=[token], show_progress=False)
            tokenizer.train_from_iterator([text], trainer)
        ids = range(5)
        texts.append(
            [tokenizer.decode([*ids]), tokenizer.decode_batch([[i] for i in ids]), tokenizer.id_to_token(3)]
        )
    assert texts[0] == texts[1]
    assert texts[0][1:] == [["", "a", "b", "", "ab"], "c"]


@pytest.mark.parametrize("special", [[""], ["", "<s>"], ["<s>", "", "a"]])
@pytest.mark.parametrize("kind", ["BPE", "WordPiece", "WordLevel"])
def test_empty_special_token_takes_an_id(kind: str, special: list[str]) -> None:
    made = []
    for module in (face, stock):
        tokenizer = module.Tokenizer(getattr(module.models, kind)(unk_token="?"))
        tokenizer.pre_tokenizer = module.pre_tokenizers.Whitespace()
        name = "BpeTrainer" if kind == "BPE" else f"{kind}Trainer"
        trainer = getattr(module.trainers, name)(special_tokens=special, show_progress=False)
        tokenizer.train_from_iterator(["aa a aa"], trainer)
        again = module.Tokenizer.from_str(tokenizer.to_str())
        made.append((tokenizer.get_vocab(), again.get_vocab(), again.encode("aa a").ids))
    assert made[0] == made[1]


def test_training_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc\xff\n")
    with pytest.raises(Exception, match="stream did not contain valid UTF-8"):
        stock.Tokenizer(stock.models.BPE()).train([str(tmp_path / "a.txt")])
    with pytest.raises(FormatError, match=r"a\.txt: not UTF-8; convert the file to UTF-8 first"):
        face.Tokenizer(face.models.BPE()).train([str(tmp_path / "a.txt")])
