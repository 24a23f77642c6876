"""ParityBpeTrainer of fastbpe.tokenizers against tokenizers: the same files, attributes and errors."""

from __future__ import annotations

import copy
import json
import math
import pickle
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.tokenizers import parity_learning
from helpers.parity_cases import Case, random_case
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import random_text
from helpers.tokenizers_twins import outcome

STEPS: list[Callable[[Any], Any]] = [
    lambda m: m.pre_tokenizers.ByteLevel(),
    lambda m: m.pre_tokenizers.ByteLevel(add_prefix_space=False),
    lambda m: m.pre_tokenizers.Sequence(
        [m.pre_tokenizers.Split(m.Regex(r"\s+"), "removed"), m.pre_tokenizers.ByteLevel(False, use_regex=False)]
    ),
    lambda m: None,
    lambda m: m.pre_tokenizers.Whitespace(),
    lambda m: m.pre_tokenizers.BertPreTokenizer(),
    lambda m: m.pre_tokenizers.Metaspace(),
    lambda m: m.pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
    lambda m: m.pre_tokenizers.Split("a", "merged_with_next"),
    lambda m: m.pre_tokenizers.Sequence([m.pre_tokenizers.WhitespaceSplit(), m.pre_tokenizers.ByteLevel()]),
    lambda m: m.pre_tokenizers.Sequence([m.pre_tokenizers.UnicodeScripts(), m.pre_tokenizers.FixedLength(3)]),
]
FORMS: list[Callable[[Any], Any]] = [
    lambda m: None,
    lambda m: None,
    lambda m: m.normalizers.NFD(),
    lambda m: m.normalizers.Strip(),
    lambda m: m.normalizers.Sequence([m.normalizers.Lowercase(), m.normalizers.Prepend("_")]),
    lambda m: m.normalizers.Replace("a", ""),
]
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def words_of(text: str, steps: int, form: int) -> list[str]:
    """Return the words of a text, as tokenizers counts them."""
    normalizer, pre_tokenizer = FORMS[form](stock), STEPS[steps](stock)
    if normalizer is not None:
        text = normalizer.normalize_str(text)
    if pre_tokenizer is None:
        return [text.strip(SPACE)] if text.strip(SPACE) else []
    return [word for word, _ in pre_tokenizer.pre_tokenize_str(text) if word]


def trained(module: Any, case: Case, options: dict[str, Any], steps: int, form: int, call: bool) -> str:
    """Train and return the JSON of the tokenizer. call: give the ratio to the call, and not to the trainer."""
    tokenizer = module.Tokenizer(module.models.BPE(unk_token="?", fuse_unk=True))
    pre_tokenizer, normalizer = STEPS[steps](module), FORMS[form](module)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.add_tokens(["ab", "bc"])
    named = {**case.of_tokenizers(), **options}
    ratio = named.pop("ratio")
    trainer = module.trainers.ParityBpeTrainer(**named, **({} if call else {"ratio": ratio}))
    dev = None if case.dev is None else [iter(texts) for texts in case.dev]
    trainer.train_from_iterator(tokenizer, [iter(texts) for texts in case.languages], dev, ratio if call else None)
    return str(tokenizer.to_str())


def random_training(rng: random.Random, steps: int, form: int) -> Case:
    """Return a case at which tokenizers ends."""
    while True:
        case = random_case(rng)
        if rng.random() < 0.3:
            case.languages[0].extend(random_text(rng) for _ in range(3))
        if not case.twin(lambda text: words_of(text, steps, form)).is_endless:
            return case


@pytest.mark.parametrize("seed", rounds(150, 3000))
def test_random_languages_make_the_same_files(seed: int) -> None:
    rng = random.Random(f"{SEED} parity face {seed}")
    steps, form = rng.randrange(len(STEPS)), rng.randrange(len(FORMS))
    case = random_training(rng, steps, form)
    options: dict[str, Any] = {"total_symbols": rng.random() < 0.2}
    if rng.random() < 0.4:
        options["special_tokens"] = rng.sample(["<s>", "ab", "", "bb", "Ġa", "é", "▁a", "aa"], rng.randint(1, 4))
    if rng.random() < 0.2:
        options["initial_alphabet"] = rng.choice([["é", "z"], face.pre_tokenizers.ByteLevel.alphabet()])
    call = rng.random() < 0.5
    ours, theirs = (outcome(lambda m=m: trained(m, case, options, steps, form, call)) for m in (face, stock))
    assert ours == theirs, (case, options, steps, form)


def plain(described: str) -> Any:
    """Return what does not depend on the order of words, by which tokenizers numbers characters with affixes."""
    model = json.loads(described)["model"]
    return {**model, "vocab": sorted(model["vocab"])}


@pytest.mark.parametrize("seed", rounds(100, 2000))
def test_affixes_that_texts_hold_too_make_the_same_merges(seed: int) -> None:
    rng = random.Random(f"{SEED} parity affixes {seed}")
    case = replace(random_case(rng, may_be_empty=False), alpha=9.0)  # at which tokenizers ends
    options = {
        "continuing_subword_prefix": rng.choice([None, "##", "a", "b", "aa", "é"]),
        "end_of_word_suffix": rng.choice([None, "</w>", "a", "b", "ab", "文"]),
        "special_tokens": rng.choice([[], ["ab"], ["<s>", "aa", "bb"]]),
    }
    ours, theirs = (outcome(lambda m=m: plain(trained(m, case, options, 4, 0, True))) for m in (face, stock))
    assert ours == theirs, (case, options)


@pytest.mark.parametrize("seed", rounds(40, 400))
def test_limited_alphabet_leaves_the_same_characters(seed: int) -> None:
    rng = random.Random(f"{SEED} parity alphabet {seed}")
    case = replace(random_case(rng, may_be_empty=False), alpha=9.0)
    texts = [text for some in (*case.languages, *(case.dev or [])) for text in some]
    counts = Counter(character for text in texts for word in words_of(text, 4, 0) for character in word)
    order = [n for _, n in counts.most_common()]
    limits = [i for i in range(len(order) + 2) if i >= len(order) or not i or order[i] < order[i - 1]]
    options = {"limit_alphabet": rng.choice(limits)}
    if any(not any(words_of(text, 4, 0) for text in some) for some in case.languages):
        case = replace(case, ratio=None)
    # a language whose characters are all left out has no text
    if case.ratio is not None:
        case = replace(case, ratio=None)
    ours, theirs = (outcome(lambda m=m: trained(m, case, options, 4, 0, True)) for m in (face, stock))
    assert ours == theirs, (case, options)


@pytest.mark.daily
def test_the_learner_of_python_learns_what_the_core_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner in Python is the one that follows tokenizers where tokens collide."""
    for seed in range(60):
        rng = random.Random(f"{SEED} parity learners {seed}")
        case = random_case(rng)
        by_core = trained(face, case, {}, 4, 0, True)
        with monkeypatch.context() as patched:
            patched.setattr(parity_learning, "_collide", lambda *arguments: True)
            assert trained(face, case, {}, 4, 0, True) == by_core, case


def trainer(module: Any, **options: Any) -> Any:
    return module.trainers.ParityBpeTrainer(**options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.1},
        {"alpha": 1e20, "total_symbols": True},
        {"alpha": 1e-7, "window_size": 3},
        {"alpha": math.nan},
        {"alpha": -math.inf},
        {"alpha": 3, "variant": "window"},
        {"ratio": (1, 2.5), "special_tokens": ["<s>"], "initial_alphabet": ("b", "a", "b"), "limit_alphabet": 4},
        {"continuing_subword_prefix": "##", "end_of_word_suffix": ".", "max_token_length": 0},
        {"num_merges": -1},
        {"num_merges": 1.5},
        {"num_merges": "1"},
        {"variant": "x"},
        {"variant": 1},
        {"ratio": 3},
        {"ratio": ["a"]},
        {"ratio": "ab"},
        {"special_tokens": ("a",)},
        {"special_tokens": [1]},
        {"initial_alphabet": "ab"},
        {"initial_alphabet": ["ab"]},
        {"total_symbols": 1},
        {"alpha": "1"},
        {"limit_alphabet": -3},
        {"min_frequency": None},
        {"foo": 1},
    ],
)
def test_trainers_have_the_same_state_and_repr(options: dict[str, Any]) -> None:
    def made(module: Any) -> Any:
        one = trainer(module, **options)
        again = [one, copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))]
        return [(repr(each), str(each), repr(each.__getstate__())) for each in again]

    assert outcome(lambda: made(face)) == outcome(lambda: made(stock))


def test_long_variant_is_cut_in_the_error() -> None:
    with pytest.raises(ValueError, match=r"Unknown variant 'x{60}'"):
        trainer(face, variant="x" * 999)


NAMES = (
    "num_merges", "variant", "min_frequency", "global_merges", "window_size", "alpha", "total_symbols", "ratio",
    "special_tokens", "show_progress", "limit_alphabet", "initial_alphabet", "continuing_subword_prefix",
    "end_of_word_suffix", "max_token_length", "words", "foo",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [3, -1, 2.5, "x", True, None, ["ab"], ["a", "a"], (1,), 1 << 64, "window"])
def test_attributes_take_the_same_values(name: str, value: Any) -> None:
    def made(module: Any) -> Any:
        one = trainer(module)
        before = repr(getattr(one, name))
        setattr(one, name, value)
        return before, repr(getattr(one, name))

    assert outcome(lambda: made(face)) == outcome(lambda: made(stock))


def test_every_attribute_of_the_original_is_there() -> None:
    names = {name for name in dir(stock.trainers.ParityBpeTrainer) if not name.startswith("__")}
    assert names == {name for name in dir(trainer(face)) if not name.startswith("_")} - {"progress"}
    assert not isinstance(trainer(face), face.trainers.Trainer)


def failing() -> Any:
    yield "a"
    raise ZeroDivisionError


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (([],), {}),
    ((["aa bb"],), {}),
    (("ab",), {}),
    (([[["aa bb", "cc"], "dd"]],), {}),
    (([[1]],), {}),
    (([1],), {}),
    (([[[1]]],), {}),
    ((None,), {}),
    (([[b"ab"]],), {}),
    (((["aa"], ["bb"]),), {}),
    (({"a": ["b"]},), {}),
    ((iter([["a"]]),), {}),
    ((["a\ud800"],), {}),
    (([["a"], ["b"]], [["a"]]), {}),
    (([["a"], ["b"]], []), {}),
    (([["a"]], 3), {}),
    (([["a"], ["b"]], None, [1]), {}),
    (([["a"], ["b"]], None, [1, -1]), {}),
    (([["a"], ["b"]], None, [1, 0]), {}),
    (([["a"], ["b"]], None, [1, math.nan]), {}),
    (([["a"], ["b"]], None, [math.inf, 1]), {}),
    (([["a"]], None, 3), {}),
    (([["a"]], None, ["x"]), {}),
    (([["a"], ["b"]],), {"ratio": [1]}),
    (([["aa"], ["bb"]], [["a"], ["b"]], [1, 2, 3]), {"ratio": [1]}),
    (([["a"]],), {"variant": "window", "window_size": 0}),
    (([["a"]],), {"variant": "window", "alpha": 0}),
    (([["a"]],), {"variant": "window", "alpha": -math.inf}),
    (([["aa"]],), {"alpha": -1, "window_size": 0}),
    (([[""], []],), {}),
    (([["aa <s> bb"]],), {"special_tokens": ["<s>", "aa"]}),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_have_the_same_outcome(number: int) -> None:
    arguments, options = CALLS[number]
    if number == 11:
        arguments = (iter([["a"]]),)

    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.WordLevel({}, unk_token="u"))
        tokenizer.pre_tokenizer = module.pre_tokenizers.Whitespace()
        one = trainer(module, num_merges=5, show_progress=False, **options)
        assert one.train_from_iterator(tokenizer, *arguments) is None
        return tokenizer.to_str(), tokenizer.encode("aa bb <s>").tokens

    assert outcome(lambda: made(face)) == outcome(lambda: made(stock))


class Short(list[Any]):
    """List that says it has one item."""

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "named", [{"ratio": [1]}, {"dev_iterators": [["ab"]]}, {"dev_iterators": Short(["a"] * 3)}]
)
def test_languages_are_counted_by_their_items(named: dict[str, Any]) -> None:
    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE())
        languages = Short([["ab ab"], ["cd cd"], ["ef ef"]])
        trainer(module, num_merges=5, show_progress=False).train_from_iterator(tokenizer, languages, **named)
        return tokenizer.get_vocab()

    assert outcome(lambda: made(face)) == outcome(lambda: made(stock))


def test_list_of_languages_may_change_during_training() -> None:
    def made(module: Any) -> Any:
        def first() -> Any:
            languages.append(["gh gh"])
            yield "ab ab"

        languages: list[Any] = [first(), ["cd cd"]]
        tokenizer = module.Tokenizer(module.models.BPE())
        trainer(module, num_merges=5, show_progress=False).train_from_iterator(tokenizer, languages, None, [1, 2])
        return tokenizer.get_vocab()

    assert made(face) == made(stock)


@pytest.mark.parametrize("module", [face, stock])
def test_an_error_leaves_the_tokenizer_as_it_was(module: Any) -> None:
    tokenizer = module.Tokenizer(module.models.BPE({"a": 0}, []))
    with pytest.raises(ZeroDivisionError):
        trainer(module).train_from_iterator(tokenizer, [["a"], failing()])
    assert tokenizer.get_vocab() == {"a": 0}
    with pytest.raises(TypeError):
        trainer(module).train_from_iterator(3, [["a"]])
    with pytest.raises(TypeError):
        tokenizer.train_from_iterator(["a"], trainer(module))


def test_components_written_in_python_cut_words() -> None:
    class Upper:
        def normalize(self, normalized: Any) -> None:
            normalized.uppercase()

    class Thirds:
        def pre_tokenize(self, pre_tokenized: Any) -> None:
            pre_tokenized.split(lambda i, text: [text[at : at + 3] for at in range(0, len(str(text)), 3)])

    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE())
        tokenizer.normalizer = module.normalizers.Normalizer.custom(Upper())
        tokenizer.pre_tokenizer = module.pre_tokenizers.PreTokenizer.custom(Thirds())
        trainer(module, num_merges=9, show_progress=False).train_from_iterator(
            tokenizer, [["abcabcabd"], ["xyzxyxy"]]
        )
        return tokenizer.get_vocab()

    assert made(face) == made(stock)
