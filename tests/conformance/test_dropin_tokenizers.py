"""fastbpe.tokenizers beside tokenizers: the same calls give the same values and the same classes of exceptions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("numpy")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.sampling import SEED, n_rounds
from helpers.tokenizer_json import (
    LETTERS,
    METASPACE,
    dumped,
    llama_document,
    normalized_tokens,
    random_document,
    random_text,
    with_post_processor,
)
from helpers.tokenizers_twins import Twins
from helpers.transformers_grid import FILES, MADE, TEXTS, json_of, random_texts

MODELS = ("small_bytes", "small_llama", *FILES, *MADE)


def random_settings(rng: random.Random) -> Callable[[Any], None]:
    """Return a function that gives a tokenizer random settings."""
    cut = {
        "max_length": rng.choice([1, 2, 3, 5, 8, 20]),
        "stride": rng.choice([0, 0, 1, 2]),
        "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
        "direction": rng.choice(["left", "right"]),
    }
    pad = {
        "direction": rng.choice(["left", "right"]),
        "pad_id": 3,
        "pad_type_id": rng.choice([0, 2]),
        "pad_token": "[PAD]",
        "length": rng.choice([None, None, 4, 12]),
        "pad_to_multiple_of": rng.choice([None, None, 4]),
    }
    cuts, pads, splits = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.3

    def apply(tokenizer: Any) -> None:
        if cuts:
            tokenizer.enable_truncation(**cut)
        else:
            tokenizer.no_truncation()
        if pads:
            tokenizer.enable_padding(**pad)
        else:
            tokenizer.no_padding()
        tokenizer.encode_special_tokens = splits

    return apply


def random_input(rng: random.Random, make_text: Callable[[random.Random], str]) -> tuple[list[Any], bool]:
    """Return a batch, and whether its texts are split into words."""

    def text() -> Any:
        return [make_text(rng) for _ in range(rng.randint(0, 4))] if words else make_text(rng)

    words, kind = rng.random() < 0.25, rng.random()
    batch: list[Any] = []
    for _ in range(rng.randint(0, 4)):
        is_pair = kind > 0.6 if kind < 0.9 else rng.random() < 0.5
        batch.append((text(), text()) if is_pair else text())
    return batch, words


def compare_calls(twins: Twins, rng: random.Random, make_text: Callable[[random.Random], str], n: int) -> None:
    """Compare random calls of `encode`, `encode_batch` and `encode_batch_fast`."""
    for _ in range(n):
        if rng.random() < 0.4:
            apply = random_settings(rng)
            twins.check(apply)
        batch, words = random_input(rng, make_text)
        options = {"is_pretokenized": words, "add_special_tokens": rng.random() < 0.8}
        told, seed = (batch, options, twins.theirs.truncation, twins.theirs.padding), rng.randrange(1 << 30)
        method = rng.choice(["encode_batch", "encode_batch_fast"])
        twins.check(lambda t, b=batch, o=options, m=method: getattr(t, m)(b, **o), (method, *told), seed)
        for row in batch[:2]:
            both = row if isinstance(row, tuple) else (row, None)
            twins.check(lambda t, b=both, o=options: t.encode(*b, **o), ("encode", both, *told), seed)


def usable_document(rng: random.Random) -> dict[str, Any]:
    """Return a random file for which the original answers, and always the same.

    If nothing is left of an added token when it is normalized, tokenizers panics, or finds it without end until it
    has all memory of the machine. If two become one, it picks either by chance.
    """
    while True:
        made = random_document(rng)
        contents = normalized_tokens(made)
        if "" not in contents and len({*contents}) == len(contents):
            return made


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tokenizers encode a batch in order: of several errors, its threads raise one by chance."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.parametrize("seed", range(n_rounds(60, 400, 4000)))
def test_random_tokenizers_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} {seed}")
    made = usable_document(rng)
    if rng.random() < 0.7:
        made = with_post_processor(made, rng)
    elif rng.random() < 0.7:
        made["post_processor"] = TEMPLATE
    twins = Twins.of(dumped(made).decode())
    compare_calls(twins, rng, random_text, 8)


def test_words_behind_the_first_keep_no_space_unless_they_start_at_0() -> None:
    byte_level = stock.pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    made = stock.Tokenizer(stock.models.BPE({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")]))
    made.normalizer = stock.normalizers.Strip()
    made.pre_tokenizer = byte_level
    made.post_processor = stock.processors.ByteLevel(add_prefix_space=True, trim_offsets=True)
    twins = Twins.of(made.to_str())
    rows = [[" a", "a"], ["a", " a"], ["", " a", " a"], [" "], []]
    assert [one.offsets for one in twins.theirs.encode_batch(rows, is_pretokenized=True)][1] == [(0, 1), (2, 2)]
    for row in rows:
        twins.check(lambda t, r=row: t.encode(r, is_pretokenized=True), row)
    twins.check(lambda t: t.encode_batch(rows, is_pretokenized=True))


TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
    "pair": [
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "a", "type_id": 2}},
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "b", "type_id": 1}},
    ],
    "special_tokens": {
        "a": {"id": "a", "ids": [64], "tokens": ["a"]},
        "b": {"id": "b", "ids": [65, 66], "tokens": ["b", "c"]},
    },
}


@pytest.mark.parametrize("seed", range(n_rounds(10, 60, 600)))
def test_random_llama_kinds_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} llama {seed}")
    letters = [*dict.fromkeys(letter for text in LETTERS for letter in text.replace(" ", METASPACE))]
    vocab = {token: i for i, token in enumerate(["<unk>", *letters])}
    merges = []
    for _ in range(rng.randint(0, 12)):
        left, right = rng.choices([token for token in vocab if token != "<unk>"], k=2)
        if left + right not in vocab:
            merges.append(f"{left} {right}")
            vocab[left + right] = len(vocab)
    made = llama_document(vocab, merges)
    twins = Twins.of(json.dumps(made))
    compare_calls(twins, rng, random_text, 8)


@lru_cache
def published(name: str) -> Twins:
    return Twins.of(json_of(name))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(4)
def test_published_tokenizers_encode_like_the_original(name: str) -> None:
    rng, twins = random.Random(f"{SEED} {name}"), published(name)
    texts = [*TEXTS, *random_texts(rng, 60)]
    compare_calls(twins, rng, lambda rng: rng.choice(texts), 40)
    twins.check(lambda t: (t.no_truncation(), t.no_padding(), setattr(t, "encode_special_tokens", False)))
    calls = twins.ours._engine.calls
    before = calls.copy()
    twins.check(lambda t: t.encode_batch(texts))
    assert calls - before == {("encode", ""): 1}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(4)
def test_published_tokenizers_decode_like_the_original(name: str) -> None:
    rng, twins = random.Random(f"{SEED} decode {name}"), published(name)
    size = twins.theirs.get_vocab_size()
    batch: list[Any] = [[rng.randrange(size) for _ in range(rng.choice([0, 1, 2, 9]))] for _ in range(60)]
    batch += [[rng.randrange(300) for _ in range(9)] for _ in range(60)]
    batch += [twins.theirs.encode(text).ids for text in random_texts(rng, 30)]
    for skips in (True, False):
        twins.check(lambda t, s=skips: t.decode_batch(batch, s))
        for ids in batch:
            twins.check(lambda t, i=ids, s=skips: t.decode(i, skip_special_tokens=s), ids)
            twins.check(lambda t, i=ids, s=skips: stream(t, i, s), ids)


def stream(tokenizer: Any, ids: list[int], skips: bool) -> list[str | None]:
    module = face if isinstance(tokenizer, face.Tokenizer) else stock
    made = module.decoders.DecodeStream(skip_special_tokens=skips)
    return [made.step(tokenizer, id) for id in ids]
