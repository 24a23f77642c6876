"""BPE of characters, and BPE with dropout, in fastbpe.tokenizers against tokenizers."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.random_pipelines import random_pipeline
from helpers.sampling import SEED, n_rounds, rounds
from helpers.tokenizer_json import added, random_text
from helpers.tokenizers_calls import compare_calls
from helpers.tokenizers_twins import Twins

LETTERS = ["a", "b", "c", "é", "漢", " ", "▁", "1", ".", "𝄞", "Ġ"]


def text_of(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return random_text(rng)
    return "".join(rng.choices([*LETTERS, "<s>", "x", "\n", "ab", "A"], k=rng.randint(0, 9)))


@pytest.mark.parametrize("seed", rounds(40, 6000))
def test_random_tokenizers_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} plain {seed}")
    made = random_pipeline(rng)
    twins = Twins.of(json.dumps(made))
    twins.check(lambda t: [t.to_str(), repr(t)])
    compare_calls(twins, rng, text_of, 8)
    for _ in range(10):
        ids, skips = rng.choices(range(len(made["model"]["vocab"]) + 4), k=rng.randint(0, 6)), rng.random() < 0.5
        twins.check(lambda t, i=ids, s=skips: t.decode(i, s), ids)


@pytest.mark.parametrize("seed", rounds(20, 3000))
def test_models_tokenize_pieces_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} pieces {seed}")
    twins = Twins.of(json.dumps({**random_pipeline(rng), "added_tokens": []}))
    for text in [text_of(rng) for _ in range(15)]:
        twins.check(lambda t, s=text: [token.as_tuple() for token in t.model.tokenize(s)], text)
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.model.ignore_merges = not tokenizer.model.ignore_merges
    for bad in ("ab", "", 5, None, "\ud800"):
        twins.check(lambda t, s=bad: [token.as_tuple() for token in t.model.tokenize(s)], bad)


def test_long_pieces_and_many_pieces_are_encoded_like_the_original() -> None:
    rng = random.Random(f"{SEED} plain long")
    vocab = {
        token: i for i, token in enumerate(["<unk>", "a", "b", "ab", "ba", "abab", "abba", "b</w>", "ab</w>"])
    }
    merges = [["a", "b"], ["b", "a"], ["ab", "ab"], ["ab", "ba"], ["a", "b</w>"]]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "end_of_word_suffix": "</w>"}
    made = {**random_pipeline(rng), "model": model, "added_tokens": [], "normalizer": None, "post_processor": None}
    for pre_tokenizer in (None, {"type": "WhitespaceSplit"}):
        twins = Twins.of(json.dumps({**made, "pre_tokenizer": pre_tokenizer}))
        for n in (3000, 20_000):
            text = "".join(rng.choices("aabbb ", k=n))
            twins.check(lambda t, s=text: [t.encode(s).ids, t.encode(s).offsets])
        assert twins.ours._definition.ready().native.mode == "character"


def test_an_unknown_token_that_is_none_is_an_error_where_a_text_needs_it() -> None:
    for unknown in ("none", None):
        twins = Twins.of(json.dumps({**random_pipeline(random.Random(1)), "added_tokens": [], "normalizer": None}))
        for tokenizer in (twins.ours, twins.theirs):
            tokenizer.post_processor = None
            tokenizer.model.unk_token = unknown
        twins.check(lambda t: t.encode("ü"))
        twins.check(lambda t: t.encode_batch(["", "a", "ü"]))


def test_token_with_the_id_of_an_added_token_keeps_its_name() -> None:
    def run(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({"a": 0, "b": 1}, [], unk_token="a"))
        tokenizer.pre_tokenizer = module.pre_tokenizers.WhitespaceSplit()
        tokenizer.add_tokens(["<s>"])
        tokenizer.train_from_iterator(["ab ab"], module.trainers.BpeTrainer(show_progress=False, vocab_size=3))
        return tokenizer.encode("ab <s>").tokens, tokenizer.token_to_id("ab"), tokenizer.token_to_id("<s>")

    assert run(face) == run(stock) == (["ab", "<s>"], 2, 2)
    model = {"type": "BPE", "vocab": {"a": 0, "b": 2}, "merges": []}  # the first free id is 2, by their number
    made = {**random_pipeline(random.Random(1)), "model": model, "added_tokens": [added(2, "<s>")]}
    for pre_tokenizer in (None, {"type": "WhitespaceSplit"}):
        parts = {"pre_tokenizer": pre_tokenizer, "normalizer": None, "post_processor": None}
        twins = Twins.of(json.dumps({**made, **parts}))
        twins.check(lambda t: [t.encode("b<s>a").tokens, t.encode_batch(["b<s>", "ab"])])


def test_added_tokens_keep_the_ids_that_training_leaves_them() -> None:
    def run(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({chr(97 + i): i for i in range(9)}, []))
        tokenizer.add_tokens(["<s>", module.AddedToken("ab", single_word=True)])
        tokenizer.add_special_tokens(["<p>"])
        trainer = module.trainers.BpeTrainer(show_progress=False, vocab_size=4)
        tokenizer.train_from_iterator(["abc abc"], trainer)
        found = [tokenizer.encode(text) for text in ("abc<s>ab ab", "<p>a")]
        return [(one.ids, one.tokens, one.offsets, tokenizer.decode(one.ids)) for one in found]

    assert run(face) == run(stock)


def with_dropout(module: Any, dropout: float | None, **options: Any) -> Any:
    vocab = {"a": 0, "b": 1, "ab": 2, "abb": 3, "ba": 4, "c": 5, "?": 6, "<0x64>": 7}
    merges = [("a", "b"), ("ab", "b"), ("b", "a")]
    made = module.Tokenizer(module.models.BPE(vocab, merges, dropout=dropout, unk_token="?", **options))
    made.pre_tokenizer = module.pre_tokenizers.Whitespace()
    return made


@pytest.mark.parametrize("dropout", [None, 0.0, 1.0])
@pytest.mark.parametrize("options", [{}, {"ignore_merges": True}, {"fuse_unk": True}, {"byte_fallback": True}])
def test_dropout_of_none_or_all_merges_gives_the_tokens_of_the_original(
    dropout: float | None, options: dict[str, Any]
) -> None:
    twins = Twins(*(with_dropout(module, dropout, **options) for module in (face, stock)))
    twins.check(lambda t: t.encode_batch(["abba cab abb", "d\u00e9d ab", "", "abb"]))
    twins.check(lambda t: t.encode(["abb", "ba"], is_pretokenized=True))
    twins.check(lambda t: [one.as_tuple() for one in t.model.tokenize("abbd")])


@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.8])
def test_dropout_gives_tokens_as_often_as_the_original(dropout: float) -> None:
    n = n_rounds(6000, 60000)
    counts = [
        Counter(" ".join(one.tokens) for one in tokenizer.encode_batch(["abbab"] * n))
        for tokenizer in (with_dropout(module, dropout) for module in (face, stock))
    ]
    for tokens in {*counts[0], *counts[1]}:
        ours, theirs = (count[tokens] / n for count in counts)
        assert abs(ours - theirs) < 5 * (2 * max(ours, theirs, 1 / n) / n) ** 0.5, tokens


def test_dropout_can_be_set_and_ends_with_none() -> None:
    tokenizer = with_dropout(face, None)
    tokenizer.model.dropout = 1.0
    assert tokenizer.encode("abb").tokens == ["a", "b", "b"]
    assert json.loads(tokenizer.to_str())["model"]["dropout"] == 1.0
    tokenizer.model.dropout = None
    assert tokenizer.encode("abb").tokens == ["abb"]


def test_training_replaces_the_merges_of_a_model_with_dropout() -> None:
    def tokens(module: Any) -> Any:
        tokenizer = with_dropout(module, None)
        tokenizer.model.dropout = -1.0  # no merge is skipped
        before = tokenizer.encode("abab").tokens
        tokenizer.train_from_iterator(["ba ba"], module.trainers.BpeTrainer(vocab_size=3, show_progress=False))
        return before, tokenizer.encode("baba").tokens

    assert tokens(face) == tokens(stock)


@pytest.mark.parametrize("dropout", [3, -1.0, float("nan"), 1e39])
def test_dropout_that_is_no_probability_can_be_set_as_in_the_original(dropout: float) -> None:
    twins = Twins(*(with_dropout(module, None) for module in (face, stock)))
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.model.dropout = dropout
    twins.check(lambda t: [str(t.model.dropout), t.encode("abba cab abb").ids, t.to_str()])
