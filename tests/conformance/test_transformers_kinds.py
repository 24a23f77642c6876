"""Accelerated tokenizers of many kinds of models against stock ones, and uses that are rare but legal."""

from __future__ import annotations

import copy
import inspect
import logging
import pickle
import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers
from tokenizers import processors
from transformers.utils import logging as transformers_logging

from fastbpe.transformers import accelerate, status
from helpers.sampling import SEED, n_rounds, rounds
from helpers.transformers_grid import CALLS, answer, difference, make, random_texts
from helpers.transformers_kinds import KINDS, ODD_CALLS, json_of_kind, make_kind
from helpers.transformers_random import draw_decoding, draw_encoding

NOT_TAKEN: set[str] = set()


@lru_cache
def twins(name: str) -> tuple[Any, Any]:
    return accelerate(make_kind(name)), make_kind(name)


def compare(name: str, calls: dict[str, Callable[[Any], Any]]) -> None:
    failed = []
    for shape, call in calls.items():
        ours, stock = twins(name)
        for tokenizer in (ours, stock):
            tokenizer.padding_side = tokenizer.truncation_side = "right"
        if found := difference(answer(call, ours), answer(call, stock)):
            failed.append(f"{shape}: {found}")
    assert not failed, "\n".join(failed)[:6000]


@pytest.mark.parametrize("name", KINDS)
def test_odd_calls_answer_like_stock(name: str) -> None:
    compare(name, ODD_CALLS)


@pytest.mark.daily
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.sample(3)
def test_every_call_answers_like_stock(name: str) -> None:
    compare(name, CALLS)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.sample(4)
def test_random_calls_answer_like_stock(name: str) -> None:
    rng = random.Random(f"{SEED} {name} kinds")
    calls = [rng.choice([draw_encoding, draw_encoding, draw_decoding])(rng) for _ in rounds(60, 5000)]
    compare(name, {f"{number} {told}": call for number, (told, call) in enumerate(calls)})


@pytest.mark.parametrize("name", KINDS)
def test_kinds_that_fastbpe_takes_are_answered_natively(name: str) -> None:
    ours = accelerate(make_kind(name))
    ours(["a b", "c"])
    assert status(ours)["accelerated"] == (name not in NOT_TAKEN)
    assert name in NOT_TAKEN or status(ours)["native"] == {"encode": 1}


@pytest.mark.parametrize("name", KINDS)
def test_tokens_are_those_of_stock(name: str) -> None:
    ours, stock = accelerate(make_kind(name)), make_kind(name)
    rng = random.Random(f"{SEED} {name} tokens")
    for number in range(n_rounds(60, 5000)):
        text = random_texts(rng, 1)[0]
        if number % 20 == 19:  # known tokens must not outlive a change
            for tokenizer in (ours, stock):
                tokenizer.add_tokens([text[:3] or "x"])
        options = rng.choice([{}, {"add_special_tokens": True}, {"add_special_tokens": False}])
        assert ours.tokenize(text, **options) == stock.tokenize(text, **options), (text, options)


TRIMMING: dict[str, Callable[[bool], Any]] = {
    "byte level": lambda prefixed: processors.ByteLevel(trim_offsets=True, add_prefix_space=prefixed),
    "roberta": lambda prefixed: processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=prefixed
    ),
    "both": lambda prefixed: processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True, add_prefix_space=prefixed),
            processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=False),
        ]
    ),
}


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("name", TRIMMING)
def test_offsets_of_parts_are_trimmed_like_stock(
    name: str, prefixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")  # two pairs may fail differently
    rng = random.Random(f"{SEED} {name} {prefixed}")
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    for tokenizer in (ours, stock):
        tokenizer.backend_tokenizer.post_processor = TRIMMING[name](prefixed)
    for _ in rounds(60, 3000):
        texts = [text + rng.choice(["", "   ", " a  b"]) for text in random_texts(rng, 3)]
        given = rng.choice([{"text": texts}, {"text": texts, "text_pair": texts[::-1]}, {"text": [texts, ["x"]]}])
        options = {
            "truncation": rng.choice([True, "only_first", "only_second"]),
            "max_length": rng.choice([4, 6, 9, 15]),
            "stride": rng.choice([0, 1, 2]),
            "return_overflowing_tokens": rng.random() < 0.7,
            "return_offsets_mapping": True,
            "is_split_into_words": isinstance(given["text"][0], list),
        }
        ours.truncation_side = stock.truncation_side = rng.choice(["left", "right"])
        call = lambda t, g=given, o=options: t(**g, **o)  # noqa: E731
        assert not difference(answer(call, ours), answer(call, stock), f"{given} {options}")
    reasons = status(ours)["handed_over"].get("encode", {})
    assert any("trimmed" in reason for reason in reasons) == prefixed


def draw_words(rng: random.Random) -> Any:
    """Draw words, from none to eight, some of white space, with marks, or special tokens."""
    words = ["low", " lower", "É", "漢字", "", "a b", "  x", "<s>", "12", "\n", "don't", " ", "é\u0301", "😀"]
    drawn = [rng.choice(words) for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8]))]
    return tuple(drawn) if rng.random() < 0.3 else drawn


@pytest.mark.parametrize("name", ["small_bytes", *TRIMMING])
def test_pairs_of_words_answer_like_stock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")  # two pairs may fail differently
    rng = random.Random(f"{SEED} {name}")
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    if name in TRIMMING:
        prefixed = rng.random() < 0.5
        for tokenizer in (ours, stock):
            tokenizer.backend_tokenizer.post_processor = TRIMMING[name](prefixed)
    for _ in rounds(60, 3000):
        n = rng.choice([1, 2, 3])
        pairs = [(draw_words(rng), draw_words(rng)) for _ in range(n)]
        firsts, seconds = rng.choice(
            [pairs[0], (pairs, None), ([*map(list, pairs)], None), tuple(map(list, zip(*pairs, strict=True)))]
        )
        options = {
            "truncation": rng.choice([False, True, "only_first", "only_second"]),
            "max_length": rng.choice([6, 9, 14, 30]),
            "stride": rng.choice([0, 0, 1, 2]),
            "padding": rng.choice([False, True, "max_length"]),
            "add_special_tokens": rng.random() < 0.7,
            "return_overflowing_tokens": rng.random() < 0.4,
            "return_offsets_mapping": rng.random() < 0.4,
            "return_special_tokens_mask": True,
            "return_token_type_ids": True,
        }
        call = lambda t, a=firsts, b=seconds, o=options: t(a, b, **o, is_split_into_words=True)  # noqa: E731
        assert not difference(answer(call, ours), answer(call, stock), repr((firsts, seconds, options)))
    assert status(ours)["native"]["encode"] > len(rounds(60, 3000)) / 8  # a third, about


@pytest.mark.parametrize("adds_special", [False, True])
@pytest.mark.parametrize("name", TRIMMING)
def test_parts_of_pairs_have_the_type_ids_of_stock(name: str, adds_special: bool) -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    for tokenizer in (ours, stock):
        tokenizer.backend_tokenizer.post_processor = TRIMMING[name](False)
    options = {
        "truncation": True,
        "max_length": 11,
        "return_overflowing_tokens": True,
        "return_token_type_ids": True,
        "add_special_tokens": adds_special,
    }
    call = lambda t: t("low lower words", "the lower one", **options)  # noqa: E731
    assert not difference(answer(call, ours), answer(call, stock))


def messages_of(call: Callable[[Any], Any], tokenizer: Any) -> list[tuple[str, str]]:
    """Return transformers' messages of a call, also those that it gives once in a process."""
    kept: list[tuple[str, str]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append((record.name, record.getMessage()))

    handler, logger = Handler(), logging.getLogger("transformers")
    transformers_logging.warning_once.cache_clear()
    logger.addHandler(handler)
    try:
        answer(call, tokenizer)
    finally:
        logger.removeHandler(handler)
    return kept


@pytest.mark.parametrize("ids", [[5, 6], [[5, 6], [7]], [[5], [10_000_000]], 5, "no ids"])
def test_each_call_that_would_clean_up_warns_like_stock(ids: Any) -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    for method in ("decode", "batch_decode"):
        call = lambda t, m=method: getattr(t, m)(ids, clean_up_tokenization_spaces=True)  # noqa: E731
        for _ in range(2):
            assert messages_of(call, ours) == messages_of(call, stock)


def test_methods_have_the_signatures_of_stock() -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    for name in (
        "__call__",
        "encode",
        "tokenize",
        "decode",
        "batch_decode",
        "_encode_plus",
        "_decode",
        "from_pretrained",
    ):
        methods = [getattr(tokenizer, name) for tokenizer in (ours, stock)]
        for look in (inspect.getfullargspec, inspect.signature):
            assert look(methods[0]) == look(methods[1]), (name, look)
        assert methods[0].__annotations__ == methods[1].__annotations__


Accelerated: Any = type(accelerate(make("small_bytes")))


class Derived(Accelerated):
    """Subclass of the accelerated class, as servers make them."""

    own = "a"


class Marked(Accelerated):
    """Subclass with a step of encoding, and one of decoding, of its own."""

    def _convert_encoding(self, *args: Any, **options: Any) -> Any:
        columns, encodings = super()._convert_encoding(*args, **options)
        return {**columns, "marks": [[1]] * len(encodings)}, encodings

    def _decode(self, *args: Any, **options: Any) -> str:
        return f"<{super()._decode(*args, **options)}>"


class MarkedFirst(Accelerated):
    """Subclass with another `_encode_plus`."""

    def _encode_plus(self, text: Any, *args: Any, **options: Any) -> Any:
        return super()._encode_plus(text.upper() if isinstance(text, str) else text, *args, **options)


def made_of(cls: Any) -> Any:
    return cls(tokenizer_object=make("small_bytes")._tokenizer, pad_token="<pad>")


def test_subclass_of_the_accelerated_class_stays_itself(tmp_path: Path) -> None:
    derived = made_of(Derived)
    derived.save_pretrained(tmp_path)
    copies = [pickle.loads(pickle.dumps(derived)), copy.deepcopy(derived), copy.copy(derived)]
    for one in (derived, *copies, Derived.from_pretrained(tmp_path), accelerate(derived)):
        assert type(one) is Derived
        assert one.own == "a"
        assert one("a b")["input_ids"] == make("small_bytes")("a b")["input_ids"]


def test_methods_of_subclasses_are_called() -> None:
    marked, first, stock = made_of(Marked), made_of(MarkedFirst), make("small_bytes")
    assert marked("a b")["marks"] == [1]
    assert marked(["a", "b"], padding=True)["marks"] == [[1], [1]]
    assert marked.decode([[300], [301]]) == [f"<{stock.decode([i])}>" for i in (300, 301)]
    assert marked.batch_decode([[300]]) == [f"<{stock.decode([300])}>"]
    assert first("a b")["input_ids"] == first.encode("a b") == stock.encode("A B")


def test_methods_of_one_tokenizer_are_called() -> None:
    ours = accelerate(make("small_bytes"))
    stock_encode = ours._encode_plus
    ours._encode_plus = lambda text, *args, **options: stock_encode("A", *args, **options)
    ours._decode = lambda *args, **options: "decoded"
    assert ours("b")["input_ids"] == ours.encode("b") == make("small_bytes").encode("A")
    assert ours.decode([[5], [6]]) == ["decoded", "decoded"]


def test_decode_that_replaces_the_one_of_the_backend_is_called() -> None:
    letters = [f"{letter}{end}" for letter in "abcdt" for end in ("", "</w>")]
    vocab = {token: i for i, token in enumerate([*letters, "ca", "cat</w>", "<|startoftext|>", "<|endoftext|>"])}
    ours, stock = (transformers.CLIPTokenizer(vocab=vocab, merges=[("c", "a"), ("ca", "t</w>")]) for _ in range(2))
    accelerate(ours)
    ids = ours("cat bad")["input_ids"]
    assert ids == stock("cat bad")["input_ids"]
    for skips in (False, True):
        for call in ("decode", "batch_decode"):
            found = [getattr(made, call)([ids, ids[1:2]], skip_special_tokens=skips) for made in (ours, stock)]
            assert found[0] == found[1]
    assert ours.decode(ids, skip_special_tokens=True) == "cat bad"


def test_class_of_transformers_reads_a_kind_with_patch(tmp_path: Path) -> None:
    Path(tmp_path, "tokenizer.json").write_text(json_of_kind("gemma"), encoding="utf-8")
    Path(tmp_path, "tokenizer_config.json").write_text('{"tokenizer_class": "GemmaTokenizer"}')
    ours, stock = (transformers.AutoTokenizer.from_pretrained(tmp_path) for _ in range(2))
    assert not difference(accelerate(ours)("a b").tokens(), stock("a b").tokens())


def seen_of_added(tokenizer: Any) -> Any:
    """Collect all that depends on whether an added token is special."""
    text, seen = "x the <s> y", []
    for splits in (False, True):
        tokenizer.split_special_tokens = splits
        made = tokenizer(text, return_special_tokens_mask=True)
        seen += [made, made.tokens(), tokenizer.encode(text, add_special_tokens=False), tokenizer.tokenize(text)]
    tokenizer.split_special_tokens = False
    ids = [*tokenizer.convert_tokens_to_ids(["the", "<s>"]), 300]
    return seen, [tokenizer.decode(ids, skip_special_tokens=skips) for skips in (False, True)]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", ["small_bytes", "small_llama"])
def test_special_token_that_is_added_again_stays_special(name: str, first: bool) -> None:
    ours, stock = make(name), make(name)
    if first:
        accelerate(ours)
    for tokenizer in (ours, stock):
        tokenizer.add_special_tokens({"extra_special_tokens": ["the"]})
        tokenizer.add_tokens(["the", "<s>"])
    accelerate(ours)
    assert not difference(seen_of_added(ours), seen_of_added(stock))
    for copied in (copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):  # copies forget that it was special
        assert not difference(seen_of_added(copied(ours)), seen_of_added(copied(stock)))
    assert name == "small_llama" or not status(ours)["handed_over"]
