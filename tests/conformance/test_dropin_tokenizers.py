"""fastbpe.tokenizers beside tokenizers: the same calls give the same values and the same classes of exceptions."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("numpy")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import TEMPLATE, dumped, random_text, with_post_processor
from helpers.tokenizers_calls import compare_calls, random_llama_document, usable_document
from helpers.tokenizers_twins import Twins
from helpers.transformers_grid import FILES, MADE, TEXTS, json_of, random_texts

MODELS = ("small_bytes", "small_llama", *FILES, *MADE)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tokenizers encode a batch in order: of several errors, its threads raise one by chance."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.parametrize("seed", rounds(40, 4000))
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


@pytest.mark.parametrize("seed", rounds(10, 600))
def test_random_llama_kinds_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} llama {seed}")
    made = random_llama_document(rng)
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


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(3)
def test_stream_after_a_prompt_gives_the_text_of_tokenizers(name: str) -> None:
    """A prompt may end within a character: then its ids belong to the first text."""
    twins = published(name)
    rng = random.Random(f"{SEED} {name}")
    size = twins.theirs.get_vocab_size()
    batch: list[list[int]] = [
        twins.theirs.encode("Sauce \U0001f336 hot, \U0001f468\u200d\U0001f469 \u00e9t\u00e9").ids,
        [0],
        [],
    ]
    batch += [twins.theirs.encode(text).ids for text in random_texts(rng, 3)]
    batch += [[rng.randrange(size) for _ in range(6)] for _ in range(4)]
    for ids in batch:
        for cut in range(len(ids) + 1):
            for skips in (True, False):
                twins.check(lambda t, i=ids, c=cut, s=skips: after_prompt(t, i, c, s), (ids, cut, skips))


def after_prompt(tokenizer: Any, ids: list[int], cut: int, skips: bool) -> list[str | None]:
    """Give the texts of the ids behind the cut, some of them in lists."""
    module = face if isinstance(tokenizer, face.Tokenizer) else stock
    made, out = module.decoders.DecodeStream(ids[:cut], skips), []
    while cut < len(ids):
        n = cut % 3
        out.append(made.step(tokenizer, ids[cut : cut + n] if n else ids[cut]))
        cut += max(n, 1)
    return out
