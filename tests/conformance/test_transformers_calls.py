"""Accelerated tokenizers of transformers against stock ones: calls give the same values, types and exceptions."""

from __future__ import annotations

import inspect
import json
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers
from tokenizers import processors

from fastbpe.transformers import accelerate, status
from helpers.sampling import SEED, rounds
from helpers.transformers_grid import CALLS, FILES, MADE, TRAINED, answer, difference, json_of, make, random_texts

MODELS = (*TRAINED, *FILES, *MADE)
HOT = {
    "ids": {},
    "ids only": {"add_special_tokens": False, "return_attention_mask": False},
    "split": {"split_special_tokens": True},
    "offsets": {"return_offsets_mapping": True, "return_special_tokens_mask": True},
    "offsets in arrays": {
        "return_offsets_mapping": True,
        "return_special_tokens_mask": True,
        "padding": True,
        "return_tensors": "np",
    },
    "cut and pad": {"truncation": True, "max_length": 12, "padding": True, "return_tensors": "np"},
}


@lru_cache
def twins(name: str) -> tuple[Any, Any]:
    return accelerate(make(name)), make(name)


def fresh(name: str) -> tuple[Any, Any]:
    """Return twins with settings as new ones."""
    both = twins(name)
    for tokenizer in both:
        tokenizer.padding_side = tokenizer.truncation_side = "right"
    return both


@pytest.mark.parametrize("single", ["$A", "<a> $A:0 <b>:1", "$A:2 <b>:3 <a>:0"])
@pytest.mark.parametrize(
    "names",
    [
        ["input_ids", "token_type_ids", "attention_mask"],
        ["attention_mask", "token_type_ids", "input_ids"],
        ["input_ids", "token_type_ids"],
    ],
)
def test_type_ids_of_calls_without_options(single: str, names: list[str]) -> None:
    ours, stock = accelerate(make("bytes")), make("bytes")
    for tokenizer in (ours, stock):
        special = [("<a>", 4), ("<b>", 5)]
        tokenizer._tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=special)
        tokenizer.model_input_names = names
    for texts in ("", "a b", "x" * 30, ["a", "", "b c d"]):
        assert not difference(ours(texts), stock(texts))
    assert status(ours)["handed_over"] == {}


@pytest.mark.parametrize("tensors", [None, "np"])
@pytest.mark.parametrize("n", [0, 1, 998, 1000, 1001, 5000])
def test_one_text_of_any_length_has_the_arrays_of_stock(n: int, tensors: str | None) -> None:
    ours, stock = twins(MODELS[0])
    for options in ({}, {"truncation": True, "max_length": 7}, {"padding": "max_length", "max_length": 3000}):
        call = lambda t, o=options: t("ab " * (n // 3) + "é" * (n % 3), return_tensors=tensors, **o)  # noqa: E731
        expected = answer(call, stock)
        assert not difference(answer(call, ours), expected)
        if tensors and not isinstance(expected, BaseException):
            assert {name: array.dtype for name, array in call(ours).items()} == {
                name: array.dtype for name, array in expected.items()
            }


def test_grid_has_as_many_calls_as_promised() -> None:
    assert len(CALLS) >= 120


@pytest.mark.daily
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(2)
def test_every_call_answers_like_stock(name: str) -> None:
    failed = []
    for shape, call in CALLS.items():
        ours, stock = fresh(name)
        if found := difference(answer(call, ours), answer(call, stock)):
            failed.append(f"{shape}: {found}")
    assert not failed, "\n".join(failed)


@pytest.mark.daily
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", HOT)
@pytest.mark.sample(3)
def test_random_texts_answer_like_stock(name: str, shape: str) -> None:
    rng = random.Random(f"{SEED} {name} {shape}")
    ours, stock = fresh(name)
    texts = random_texts(rng, 60)
    for text in ([*texts], *texts[:20]):
        call = lambda t, x=text: t(x, **HOT[shape])  # noqa: E731
        assert not difference(answer(call, ours), answer(call, stock), repr(text)[:500])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", HOT)
@pytest.mark.sample(4)
def test_many_random_texts_have_the_ids_of_stock(name: str, shape: str) -> None:
    """Ids, masks, offsets and decoded texts of batches; 10,000 texts in the long form."""
    rng = random.Random(f"{SEED} many {name} {shape}")
    ours, stock = fresh(name)
    for _ in rounds(1, 20):
        texts = random_texts(rng, 500)
        made, expected = (t(texts, **HOT[shape]) for t in (ours, stock))
        assert not difference(made.data, expected.data)
        ids = expected["input_ids"]
        for skips in (False, True):
            decoded = [t.batch_decode(ids, skip_special_tokens=skips) for t in (ours, stock)]
            assert decoded[0] == decoded[1]


TRUNCATED = {
    "lists": {},
    "arrays": {"padding": True, "return_tensors": "np"},
    "offsets": {"return_offsets_mapping": True},
    "split": {"split_special_tokens": True},
    "no frame": {"add_special_tokens": False},
}


@pytest.mark.daily
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", TRUNCATED)
@pytest.mark.sample(5)
def test_truncated_texts_of_which_the_beginning_is_encoded_answer_like_stock(
    name: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.cutting.beginnings.CHARACTERS_PER_ID", 2)
    rng = random.Random(f"{SEED} beginnings {name} {shape}")
    ours, stock = fresh(name)
    for _ in rounds(8, 400):
        texts = ["".join(random_texts(rng, 4)) for _ in range(6)]
        strategy = rng.choice([True, True, "only_first", "only_second"])
        options = TRUNCATED[shape] | {"truncation": strategy, "max_length": rng.choice([3, 7, 20, 60])}
        call = lambda t, x=texts, o=options: t(x, **o)  # noqa: E731
        assert not difference(answer(call, ours), answer(call, stock), repr((texts, options)))


POST_PROCESSORS = {
    "none": lambda: None,
    "byte level": lambda: processors.ByteLevel(trim_offsets=False),
    "roberta": lambda: processors.RobertaProcessing(("b", 5), ("a", 4), trim_offsets=False),
    "bert": lambda: processors.BertProcessing(("b", 5), ("a", 4)),
    "template": lambda: processors.TemplateProcessing(
        single="a $A", pair="a $A b:1 $B:1 b:1", special_tokens=[("a", 4), ("b", 5)]
    ),
}


@pytest.mark.parametrize("name", POST_PROCESSORS)
@pytest.mark.parametrize("kind", ["small_bytes", "small_llama"])
def test_parts_of_random_pairs_are_in_the_order_of_stock(
    name: str,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two pairs may fail differently. In parallel, stock raises for whichever fails first.
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    rng = random.Random(f"{SEED} {name} {kind}")
    ours, stock = accelerate(make(kind)), make(kind)
    for tokenizer in (ours, stock):
        tokenizer.backend_tokenizer.post_processor = POST_PROCESSORS[name]()
    n_answered = 0
    for _ in rounds(20, 3000):
        firsts, seconds = ([text[:60] for text in random_texts(rng, 2)] for _ in range(2))
        options = {
            "truncation": rng.choice(["longest_first", "only_first", "only_second"]),
            "max_length": rng.choice([6, 9, 14, 30]),
            "stride": rng.choice([0, 0, 1, 2]),
            "padding": rng.choice([False, True, "max_length"]),
            "return_overflowing_tokens": True,
            "return_offsets_mapping": rng.random() < 0.5,
            "return_token_type_ids": True,
        }
        side = rng.choice(["left", "right"])
        for tokenizer in (ours, stock):
            tokenizer.truncation_side = side
        call = lambda t, a=firsts, b=seconds, o=options: t(a, b, **o)  # noqa: E731
        expected = answer(call, stock)
        n_answered += not isinstance(expected, BaseException)
        assert not difference(answer(call, ours), expected, repr((firsts, seconds, side, options)))
    told = status(ours)
    assert (
        told["reason"] or told["native"].get("encode", 0) >= n_answered
    )  # a file of the Llama kind has no ByteLevel


def test_chats_are_encoded_natively_unless_control_tokens_are_sanitized() -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    chat = [{"role": "user", "content": "Hi é <unk>"}]
    for options in ({}, {"return_tensors": "np", "padding": True}, {"return_dict": False}):
        call = lambda t, o=options: t.apply_chat_template(chat, **o)  # noqa: E731
        assert not difference(answer(call, ours), answer(call, stock))
    assert (status(ours)["native"], status(ours)["handed_over"]) == ({"encode": 3}, {})
    if "sanitize_control_tokens" not in inspect.signature(stock.apply_chat_template).parameters:
        return  # an older transformers
    call = lambda t: t.apply_chat_template(chat, sanitize_control_tokens=True)  # noqa: E731
    assert not difference(answer(call, ours), answer(call, stock))
    assert status(ours)["handed_over"] == {"encode": {"a chat with control tokens to sanitize": 1}}


@pytest.mark.daily
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(2)
def test_random_ids_decode_like_stock(name: str) -> None:
    rng = random.Random(f"{SEED} {name}")
    ours, stock = fresh(name)
    batch = [[rng.randrange(len(stock)) for _ in range(rng.choice([1, 2, 5, 20]))] for _ in range(100)]
    batch += [[rng.randrange(600) for _ in range(9)] for _ in range(100)]
    for skips in (False, True):
        call = lambda t, s=skips: t.batch_decode(batch, skip_special_tokens=s)  # noqa: E731
        assert not difference(answer(call, ours), answer(call, stock))
        for ids in batch[:50]:
            call = lambda t, s=skips, i=ids: t.decode(i, skip_special_tokens=s)  # noqa: E731
            assert not difference(answer(call, ours), answer(call, stock), repr(ids))


@pytest.mark.daily
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(2)
def test_hot_calls_are_answered_natively(name: str) -> None:
    ours = accelerate(make(name))
    for options in HOT.values():
        ours(["Hello world", "é 5"], **options)
    ours.batch_decode([[5, 6], [7]])
    told = status(ours)
    assert told["native"] == {"encode": len(HOT), "decode": 2}
    assert not told["handed_over"]


@pytest.mark.daily
@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("LlamaTokenizer", "small_llama"),
        ("GPT2Tokenizer", "small_bytes"),
        ("RobertaTokenizer", "small_bytes"),
        ("WhisperTokenizer", "whisper"),
        ("CodeLlamaTokenizer", "openllama"),
        ("Qwen2Tokenizer", "qwen2"),
    ],
)
@pytest.mark.sample(1)
def test_classes_of_models_answer_like_stock(class_name: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json_of(name), encoding="utf-8")
    config = {"tokenizer_class": class_name, "pad_token": "<pad>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    stock = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = accelerate(transformers.AutoTokenizer.from_pretrained(tmp_path))
    assert type(stock).__name__ == class_name
    assert status(ours)["accelerated"]
    again = type(ours).from_pretrained(tmp_path)
    failed = []
    for shape, call in CALLS.items():
        for tokenizer in (ours, again, stock):
            tokenizer.padding_side = tokenizer.truncation_side = "right"
        expected = answer(call, stock)
        for tokenizer in (ours, again):
            if found := difference(answer(call, tokenizer), expected):
                failed.append(f"{shape}: {found}")
    assert not failed, "\n".join(failed)
