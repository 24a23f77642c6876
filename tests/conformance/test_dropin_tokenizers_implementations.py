"""ByteLevelBPETokenizer and the like, of fastbpe.tokenizers by itself against tokenizers."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
import random
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import random_text
from helpers.tokenizers_twins import Twins, outcome

OTHER_KINDS = ("BertWordPieceTokenizer", "SentencePieceUnigramTokenizer")
KINDS = ("ByteLevelBPETokenizer", "SentencePieceBPETokenizer", "CharBPETokenizer")
VOCAB = {token: i for i, token in enumerate(["a", "b", "ab", "<unk>", "Ġ", "▁", "c</w>", "▁ab", "b</w>", "c"])}
MERGES = [("a", "b"), ("▁", "ab")]
TEXTS = ["ab c", "", "ab", "a<unk>b", " Ab\n漢é", "zz"]
FORMS = [None, "nfc", "nfkd"]
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "ByteLevelBPETokenizer": {
        "add_prefix_space": [False, True],
        "lowercase": [False, True],
        "dropout": [None, 0.5],
        "unicode_normalizer": [*FORMS, "unknown"],
        "continuing_subword_prefix": [None, "#"],
        "end_of_word_suffix": [None, ""],
        "trim_offsets": [False, True],
    },
    "SentencePieceBPETokenizer": {
        "unk_token": ["<unk>", "a", "none", 5],
        "replacement": ["▁", "_", "ab", ""],
        "add_prefix_space": [True, False],
        "dropout": [None, 0.1, 3],
        "fuse_unk": [False, True],
    },
    "CharBPETokenizer": {
        "unk_token": ["<unk>", "a", "none"],
        "suffix": ["</w>", "_", None, ""],
        "dropout": [None, 0.1],
        "lowercase": [False, True],
        "unicode_normalizer": FORMS,
        "bert_normalizer": [True, False],
        "split_on_whitespace_only": [False, True],
    },
}


def public(module: Any) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


@pytest.mark.parametrize("name", ["BaseTokenizer", *KINDS, *OTHER_KINDS])
def test_every_method_takes_the_same_arguments(name: str) -> None:
    ours, theirs = getattr(face.implementations, name), getattr(stock.implementations, name)
    assert public(theirs) == public(ours)
    for method in {*public(theirs), "__init__"}:
        if callable(getattr(theirs, method)):
            expected = inspect.signature(getattr(theirs, method)).parameters
            found = inspect.signature(getattr(ours, method)).parameters
            assert [*found] == [*expected], method
            defaults = [(a.default, b.default) for a, b in zip(found.values(), expected.values(), strict=True)]
            assert all(list(a) == list(b) if isinstance(b, list) else a is b or a == b for a, b in defaults), (
                method
            )
            assert [one.kind for one in found.values()] == [one.kind for one in expected.values()], method


@pytest.mark.parametrize("name", [*KINDS, *OTHER_KINDS])
def test_special_tokens_of_training_are_a_list(name: str) -> None:
    def train(library: Any) -> None:
        getattr(library.implementations, name)().train_from_iterator(["a b"], special_tokens=("<s>",))

    with pytest.raises(TypeError) as expected:
        train(stock)
    with pytest.raises(TypeError, match=re.escape(str(expected.value))):
        train(face)
    for method in (
        getattr(face.implementations, name).train,
        getattr(face.implementations, name).train_from_iterator,
    ):
        assert inspect.signature(method).parameters["special_tokens"].annotation.startswith("list[")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", rounds(15, 1000))
def test_random_arguments_make_the_same_tokenizer(name: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} {name} {seed}")
    names = rng.sample([*OPTIONS[name]], rng.randint(0, 3))
    options = {key: rng.choice(OPTIONS[name][key]) for key in names}
    (tmp_path / "vocab.json").write_text(json.dumps(VOCAB))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES))
    files = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    inputs: list[tuple[Any, ...]] = [(), (VOCAB, MERGES), files, (VOCAB,), (None, MERGES)]
    values = rng.choice(inputs)
    if "suffix" in options and options["suffix"] not in ("", None):
        values = ()  # the original panics at merges whose second token is shorter than the suffix
    if values == files and rng.random() < 0.5:
        made = [outcome(lambda m=m: getattr(m, name).from_file(*files, **options)) for m in (face, stock)]
    else:
        made = [outcome(lambda m=m: getattr(m, name)(*values, **options)) for m in (face, stock)]
    if isinstance(made[1], type):
        assert isinstance(made[0], type)
        assert made[1].__name__ == "PanicException" or issubclass(made[0], made[1]), (made, options, values)
        return
    twins = Twins(*made)
    twins.check(lambda t: [repr(t), t.to_str(), t.to_str(pretty=True), t._parameters], (options, values))
    twins.check(lambda t: repr(copy.deepcopy(t)))
    twins.check(lambda t: pickle.loads(pickle.dumps(t)).to_str())
    twins.check(lambda t: t.normalize("Éa ﬁ"))
    if options.get("dropout") is None and runs(made[0]):
        twins.check(lambda t: t.encode_batch(TEXTS), (options, values))
        for one in TEXTS:
            twins.check(lambda t, s=one: t.encode(s, "b"), (options, values, one))
            twins.check(lambda t, s=one: t.decode(t.encode(s).ids), (options, values, one))


def runs(tokenizer: Any) -> bool:
    """Tell whether fastbpe runs a tokenizer."""
    try:
        tokenizer.encode("a")
    except ImportError:
        return False
    except ValueError:  # the unknown token is not in the vocabulary
        return True
    return True


@pytest.mark.parametrize("name", KINDS)
def test_methods_answer_as_the_original(name: str, tmp_path: Path) -> None:
    values = ({"Ġ": 0, "a": 1, "b": 2, "ab": 3}, MERGES[:1]) if name == KINDS[0] else (VOCAB, MERGES[:1])
    twins = Twins(*[getattr(module, name)(*values) for module in (face, stock)])
    calls = [
        lambda t: t.encode(None),
        lambda t: t.encode_batch(None),
        lambda t: t.decode(None),
        lambda t: t.decode_batch(None),
        lambda t: asyncio.run(t.async_encode_batch(None)),
        lambda t: t.padding,
        lambda t: t.enable_padding("left", 4, 1, 1, "x", 3),
        lambda t: t.padding,
        lambda t: t.no_padding(),
        lambda t: t.enable_truncation(4, 1, "only_first"),
        lambda t: t.truncation,
        lambda t: t.no_truncation(),
        lambda t: t.enable_truncation(4, direction="left"),
        lambda t: [t.token_to_id("a"), t.id_to_token(1), t.get_vocab(), t.get_vocab_size(False)],
        lambda t: [t.add_tokens(["x"]), t.add_special_tokens(["y"]), t.num_special_tokens_to_add(True)],
        lambda t: [str(one) for one in t.get_added_tokens_decoder().values()],
        lambda t: [str(getattr(t, part)) for part in ("model", "normalizer", "pre_tokenizer", "decoder")],
        lambda t: [Path(path).name for path in t.save_model(str(tmp_path), "p")],
        lambda t: t.save(str(tmp_path / "t.json")) or (tmp_path / "t.json").read_text(),
        lambda t: setattr(t, "padding", None),
        lambda t: setattr(t, "normalizer", 5),
        lambda t: setattr(t, "decoder", None) or t.to_str(),
        lambda t: setattr(t, "normalizer", None) or t.normalize("a"),
        lambda t: t.nothing,
    ]
    for number, call in enumerate(calls):
        twins.check(call, number)


def test_a_tokenizer_within_another_is_shown_with_its_parameters() -> None:
    for module in (face, stock):
        base = module.implementations.BaseTokenizer
        inner = module.Tokenizer(module.models.BPE())
        assert repr(base(inner)) == "Tokenizer(vocabulary_size=0, )"
        assert repr(base(inner, {"a": "b", "c": 1})) == "Tokenizer(vocabulary_size=0, a=b, c=1)"


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", rounds(5, 500))
def test_training_learns_what_the_original_learns(name: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} training {name} {seed}")
    texts = [random_text(rng).replace("\r", "") for _ in range(rng.randint(0, 12))]
    paths = [tmp_path / f"{number}.txt" for number in range(rng.randint(1, 2))]
    for path in paths:
        path.write_text("\n".join(rng.choices(texts, k=5)) if texts else "")
    options: dict[str, Any] = {"vocab_size": rng.choice([200, 258, 270, 300]), "show_progress": False}
    options["min_frequency"] = rng.choice([0, 1, 2, 3])
    if rng.random() < 0.6:
        options["special_tokens"] = rng.choice([[], ["<s>", "<unk>"]])
    if name == "CharBPETokenizer":  # in the original, the characters that end words have random ids
        options["special_tokens"] = ["<unk>", *sorted({f"{one}</w>" for one in "".join(texts)})]
    files: Any = str(paths[0]) if rng.random() < 0.5 else [*map(str, paths)]
    for train in (
        lambda t: t.train(files, **options),
        lambda t: t.train_from_iterator(texts, **options),
        lambda t: t.train_from_iterator(iter([texts, *texts]), length=5, **options),
    ):
        made = []
        for module in (face, stock):
            made.append(getattr(module, name)())
            train(made[-1])
        twins = Twins(*made)
        twins.check(lambda t: t.to_str(), (options, texts))
        for text in TEXTS:
            twins.check(lambda t, s=text: t.encode(s).ids, (options, texts))


@pytest.mark.parametrize("name", KINDS)
def test_a_missing_file_is_an_error(name: str) -> None:
    for call in (lambda m: m().train("no such file"), lambda m: m.from_file("no", "such")):
        with pytest.raises(OSError, match="no"):
            call(getattr(face, name))
