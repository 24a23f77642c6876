"""fastbpe.tokenizers beside tokenizers: names, changes, copies, training, other models and bad input."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.errors import VocabularyNotFoundError
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import added, dumped, random_text, small
from helpers.tokenizers_calls import BAD_CALLS
from helpers.tokenizers_twins import Twins

SUBMODULES = ("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "trainers")
LEFT_OUT = {"Enum", "List", "Tuple", "Union", "tokenizers"}  # what the original has imported for itself
TEXTS = ["ab abc é", "", "<s>ab <s> 12", "  \n a", "漢 Ġa"]


def small_text() -> str:
    return dumped(small([added(262, "<s>", special=True)])).decode()


def public(module: Any) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


def test_every_public_name_is_there() -> None:
    assert public(stock) - LEFT_OUT <= {*face.__all__}
    for name in SUBMODULES:
        names = {
            key for key in public(getattr(stock, name)) if not inspect.ismodule(getattr(getattr(stock, name), key))
        }
        assert names == {*getattr(face, name).__all__}


@pytest.mark.parametrize("name", ["Tokenizer", "Encoding"])
def test_every_method_takes_the_same_arguments(name: str) -> None:
    ours, theirs = getattr(face, name), getattr(stock, name)
    assert public(theirs) == public(ours)
    for method in public(theirs):
        if not callable(getattr(theirs, method)) or method.startswith("async"):
            continue
        expected = [*inspect.signature(getattr(theirs, method)).parameters]
        assert [*inspect.signature(getattr(ours, method)).parameters] == expected, method


def test_components_are_the_classes_of_the_original() -> None:
    assert face.AddedToken is stock.AddedToken
    assert face.normalizers.NFC is stock.normalizers.NFC


def change(rng: random.Random) -> Any:
    """Return a function that changes a tokenizer of either module."""
    processor = stock.processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B:1", special_tokens=[("<s>", 262)]
    )
    values: dict[str, list[Any]] = {
        "normalizer": [None, stock.normalizers.NFD(), stock.normalizers.Lowercase()],
        "post_processor": [None, processor, stock.processors.ByteLevel(trim_offsets=True)],
        "pre_tokenizer": [stock.pre_tokenizers.ByteLevel(), stock.pre_tokenizers.Digits(), None],
        "decoder": [stock.decoders.ByteLevel(), stock.decoders.Fuse()],
        "encode_special_tokens": [True, False],
    }
    name = rng.choice([*values, "tokens", "special", "in place", "truncation", "padding", "off"])
    if name in values:
        value = rng.choice(values[name])
        return lambda t: setattr(t, name, value)
    token = stock.AddedToken(rng.choice(["b", "a ", "é", "<x>", "bc"]), lstrip=rng.random() < 0.5)
    if name == "in place":
        return lambda t: setattr(t.model, "ignore_merges", True)
    return {
        "tokens": lambda t: t.add_tokens([token]),
        "special": lambda t: t.add_special_tokens([token]),
        "truncation": lambda t: t.enable_truncation(4, stride=1),
        "padding": lambda t: t.enable_padding(length=6, pad_id=1),
        "off": lambda t: (t.no_truncation(), t.no_padding()),
    }[name]


@pytest.mark.parametrize("seed", rounds(12, 1500))
def test_random_changes_are_noticed(seed: int) -> None:
    rng = random.Random(f"{SEED} {seed}")
    twins = Twins.of(small_text())
    for _ in range(8):
        twins.check(change(rng))
        texts = [random_text(rng) for _ in range(3)] + TEXTS
        pairs = [*zip(texts, texts[::-1], strict=True)]
        twins.check(lambda t, b=texts: t.encode_batch(b), (texts, twins.theirs), rng.randrange(1 << 30))
        twins.check(lambda t, b=pairs: t.encode_batch(b))
        ids = rng.choices(range(270), k=9)
        twins.check(lambda t, i=ids: (t.decode(i), t.decode_batch([i, i[:3]], False)))
        twins.check(lambda t: (t.to_str(), t.get_vocab(), t.get_vocab_size(False)))
        twins.check(lambda t: (t.num_special_tokens_to_add(False), t.num_special_tokens_to_add(True)))
        twins.check(lambda t: (t.truncation, t.padding, t.encode_special_tokens, repr(t), str(t)))
        if rng.random() < 0.4:
            how = rng.choice([copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
            twins = Twins(how(twins.ours), how(twins.theirs))


def test_encodings_stay_as_they_were_when_the_tokenizer_changes() -> None:
    twins = Twins.of(small_text())
    held = [[t.encode(text) for text in TEXTS] for t in (twins.ours, twins.theirs)]
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.add_tokens(["ab"])
        tokenizer.normalizer = stock.normalizers.Lowercase()
        tokenizer.post_processor = stock.processors.ByteLevel(trim_offsets=True)
        tokenizer.enable_padding(length=9)
    Twins(*held).check(lambda encodings: encodings)


def test_changed_encodings_are_like_the_original() -> None:
    twins = Twins.of(small_text())

    def changed(tokenizer: Any) -> Any:
        module = face if isinstance(tokenizer, face.Tokenizer) else stock
        first, second, third = tokenizer.encode_batch(["ab abc", "é a", "12 12"])
        first.pad(9, direction="left", pad_id=5, pad_token="p")
        second.truncate(2, stride=1)
        third.set_sequence_id(1)
        whole = module.Encoding.merge([tokenizer.encode("ab"), tokenizer.encode("c d")], True)
        processed = tokenizer.post_process(tokenizer.encode("ab"), tokenizer.encode("c"), False)
        restored = pickle.loads(pickle.dumps(tokenizer.encode("ab c")))
        return [first, second, third, whole, processed, restored, module.Encoding()]

    twins.check(changed)


def test_returned_lists_are_new_each_time() -> None:
    encoding = face.Tokenizer.from_str(small_text()).encode("ab abc")
    for name in ("ids", "attention_mask", "offsets", "tokens"):
        before = [*getattr(encoding, name)]
        getattr(encoding, name).clear()
        assert getattr(encoding, name) == before


@pytest.mark.parametrize(
    "model",
    [
        lambda: stock.models.WordLevel({"ab": 0, "<unk>": 1}, unk_token="<unk>"),
        lambda: stock.models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -2.0)], 0),
        lambda: stock.models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}),
        lambda: stock.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], end_of_word_suffix="</w>"),
    ],
)
def test_models_that_fastbpe_does_not_take_are_the_originals(model: Any) -> None:
    twins = Twins(face.Tokenizer(model()), stock.Tokenizer(model()))
    twins.check(lambda t: t.encode_batch(["ab", "ba", ""]))
    twins.check(lambda t: t.decode([0, 1]))


def test_trained_tokenizers_are_equal_and_answered_natively(tmp_path: Path) -> None:
    texts = ["the cat sat on the mat"] * 5
    (tmp_path / "a.txt").write_text("\n".join(texts))
    made = []
    for module in (face, stock):
        tokenizer = module.Tokenizer(module.models.BPE())
        tokenizer.pre_tokenizer = module.pre_tokenizers.ByteLevel()
        alphabet = module.pre_tokenizers.ByteLevel.alphabet()
        options = {"vocab_size": 270, "show_progress": False, "initial_alphabet": alphabet}
        tokenizer.train_from_iterator(texts, trainer=module.trainers.BpeTrainer(**options))
        tokenizer.train([str(tmp_path / "a.txt")], module.trainers.BpeTrainer(**options))
        tokenizer.decoder = module.decoders.ByteLevel()
        tokenizer.save(str(tmp_path / "saved.json"))
        made.append(module.Tokenizer.from_file(str(tmp_path / "saved.json")))
    twins = Twins(*made)
    twins.check(lambda t: t.to_str())
    twins.check(lambda t: t.encode_batch(["the mat", "a cat"]))
    twins.check(lambda t: t.decode(t.encode("the mat").ids))
    assert {*twins.ours._engine.calls} == {("encode", ""), ("decode", "")}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_bad_input_raises_what_the_original_raises(call: Any) -> None:
    Twins.of(small_text()).check(call)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_copied_streams_continue_like_the_original(how: Any) -> None:
    def run(tokenizer: Any) -> Any:
        module = face if type(tokenizer) is face.Tokenizer else stock
        first = module.decoders.DecodeStream([256], skip_special_tokens=False)
        told = [first.step(tokenizer, id) for id in (256, 257, 195)]
        second = how(first)
        return told + [one.step(tokenizer, id) for id in (169, 97) for one in (first, second)]

    Twins.of(small_text()).check(run)


def test_coroutines_give_what_the_calls_give() -> None:
    async def run(tokenizer: Any) -> Any:
        return [
            await tokenizer.async_encode("ab"),
            await tokenizer.async_encode_batch(["ab", "c"]),
            await tokenizer.async_encode_batch_fast(["ab"]),
            await tokenizer.async_decode_batch([[1, 2]]),
        ]

    Twins.of(small_text()).check(lambda t: asyncio.run(run(t)))


def test_models_on_this_machine_are_found_and_others_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    repository, commits = tmp_path / "hub" / "models--some--model", {"main": "0" * 40, "refs/pr/1": "1" * 40}
    for revision, commit in commits.items():
        folder = repository / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "tokenizer.json").write_text(small_text())
        reference = repository / "refs" / revision
        reference.parent.mkdir(parents=True, exist_ok=True)
        reference.write_text(commit)
    main = face.Tokenizer.from_pretrained("some/model")
    main.add_tokens(["<new>"])
    main.save(str(repository / "snapshots" / ("1" * 40) / "tokenizer.json"))
    assert main.encode("ab").ids == [256]
    for revision in ("refs/pr/1", "1" * 40):
        assert face.Tokenizer.from_pretrained("some/model", revision).token_to_id("<new>") == 263
    assert face.Tokenizer.from_pretrained(str(repository / "snapshots" / ("0" * 40))).token_to_id("<new>") is None
    for name, revision in (("some/other", "main"), ("some/model", "v2"), ("some/model", "../main")):
        with pytest.raises(VocabularyNotFoundError, match="fastbpe fetch some/"):
            face.Tokenizer.from_pretrained(name, revision)


@pytest.mark.parametrize("name", ["ByteLevelBPETokenizer", "CharBPETokenizer", "SentencePieceBPETokenizer"])
def test_whole_tokenizers_are_like_the_original(name: str, tmp_path: Path) -> None:
    made = []
    for module in (face, stock):
        trained = getattr(module, name)()
        trained.train_from_iterator(["the cat sat on the mat"] * 3, vocab_size=280, show_progress=False)
        trained.save_model(str(tmp_path))
        files = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
        made.append([trained, getattr(module, name).from_file(*files)])
    assert type(made[0][1]) is getattr(face, name)
    Twins(*made).check(lambda both: [t.encode_batch(["the mat", "a cat"]) for t in both])
    Twins(*made).check(lambda both: [t.decode(t.encode("the mat").ids) for t in both])
    assert all(type(t._tokenizer) is face.Tokenizer for t in made[0])
