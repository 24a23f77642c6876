"""fastbpe.tokenizers by itself beside tokenizers: the same calls give the same values."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("numpy")

import tokenizers as stock

from fastbpe.tokenizers import own
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import TEMPLATE, dumped, random_text, with_post_processor, without_some_bytes
from helpers.tokenizers_calls import (
    compare_calls,
    random_llama_document,
    usable_document,
    with_metaspace,
)
from helpers.tokenizers_twins import OwnTwins, plain
from helpers.transformers_grid import FILES, MADE, TEXTS, json_of, random_texts

MODELS = ("small_bytes", "small_llama", *FILES, *MADE)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tokenizers encode a batch in order: of several errors, its threads raise one by chance."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.parametrize("seed", rounds(10, 4000))
def test_random_tokenizers_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} own {seed}")
    made = usable_document(rng)
    if rng.random() < 0.2:
        made = without_some_bytes(made, rng)
    if rng.random() < 0.6:
        made = with_post_processor(made, rng)
    elif rng.random() < 0.7:
        made["post_processor"] = TEMPLATE
    twins = OwnTwins.of(dumped(made).decode())
    twins.check(lambda t: [t.to_str(), t.to_str(True).split("\n"), repr(t), str(t)])
    compare_calls(twins, rng, random_text, 6)


@pytest.mark.parametrize("seed", rounds(8, 2000))
def test_random_llama_kinds_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} own llama {seed}")
    made = random_llama_document(rng)
    if rng.random() < 0.7:
        made = with_metaspace(made, rng)
    twins = OwnTwins.of(json.dumps(made))
    if not runs(twins.ours):
        return
    twins.check(lambda t: [t.to_str(), repr(t)])
    compare_calls(twins, rng, random_text, 8)
    for _ in range(20):
        ids, skips = rng.choices(range(len(twins.theirs.get_vocab()) + 2), k=rng.randint(0, 6)), rng.random() < 0.5
        twins.check(lambda t, i=ids, s=skips: t.decode(i, s), ids)
        twins.check(lambda t, i=ids, s=skips: stream(t, i, s), ids)


def runs(tokenizer: own.Tokenizer) -> bool:
    """Tell whether fastbpe runs a tokenizer."""
    try:
        tokenizer.encode("a")
    except ImportError:
        return False
    return True


@lru_cache
def published(name: str) -> OwnTwins:
    return OwnTwins.of(json_of(name))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(1)
def test_published_tokenizers_encode_like_the_original(name: str) -> None:
    rng, twins = random.Random(f"{SEED} own {name}"), published(name)
    texts = [*TEXTS, *random_texts(rng, 40)]
    compare_calls(twins, rng, lambda rng: rng.choice(texts), 25)
    twins.check(lambda t: (t.no_truncation(), t.no_padding(), setattr(t, "encode_special_tokens", False)))
    twins.check(lambda t: t.encode_batch(texts))
    twins.check(lambda t: [t.to_str(), repr(t), t.get_vocab(), t.get_vocab_size(), t.get_vocab_size(False)])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(1)
def test_published_tokenizers_decode_like_the_original(name: str) -> None:
    rng, twins = random.Random(f"{SEED} own decode {name}"), published(name)
    size = twins.theirs.get_vocab_size()
    batch: list[Any] = [[rng.randrange(size) for _ in range(rng.choice([0, 1, 2, 9]))] for _ in range(30)]
    batch += [[rng.randrange(300) for _ in range(9)] for _ in range(30)]
    batch += [twins.theirs.encode(text).ids for text in random_texts(rng, 20)]
    for skips in (True, False):
        twins.check(lambda t, s=skips: t.decode_batch(batch, s))
        for ids in batch:
            twins.check(lambda t, i=ids, s=skips: t.decode(i, skip_special_tokens=s), ids)
            twins.check(lambda t, i=ids, s=skips: stream(t, i, s), ids)


def stream(tokenizer: Any, ids: list[int], skips: bool) -> list[str | None]:
    module: Any = own if isinstance(tokenizer, own.Tokenizer) else stock
    made = module.decoders.DecodeStream(skip_special_tokens=skips)
    return [made.step(tokenizer, id) for id in ids]


def test_parts_of_fast_pairs_keep_the_type_ids_of_their_texts() -> None:
    def run(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({"a": 0, "b": 1}, []))
        tokenizer.enable_truncation(5)
        found = []
        for kind in (module.processors.BertProcessing, module.processors.RobertaProcessing):
            tokenizer.post_processor = kind(("b", 1), ("a", 0))
            for pair in (("", "ababab"), ("ab", "abab"), ("ababab", "a")):
                for encode in (tokenizer.encode_batch, tokenizer.encode_batch_fast):
                    found.append(plain(encode([pair])[0]))
        return found

    assert run(own) == run(stock)
