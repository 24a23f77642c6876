"""Cuts that the vocabulary allows: streams and conversations without a split pattern equal encoding the whole."""

from __future__ import annotations

import random

import pytest

import fastbpe
from fastbpe import AddedToken, Tokenizer
from fastbpe.tokenizer.stream_cuts import PairCuts
from helpers import random_exports
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES

LETTERS = ["a", "b", "c", " ", "é", "漢", "<s>", "<", "d", "ab", "\ud83d", "👍", "1"]


def drawn(rng: random.Random) -> Tokenizer:
    """Draw a tokenizer without a scanner, with special or added tokens."""
    while True:
        tokenizer = random_exports.draw(rng)[1]
        if tokenizer.mode == "byte" and not tokenizer.pre_tokenizers and not tokenizer.normalizers:
            break
    model = tokenizer._full_model()
    pattern = rng.choice([None, None, "[a-z]", r"\w+", "[ab]+", r"\s+"])
    made = Tokenizer(type(model)(**{**vars(model), "pattern": pattern, "fingerprint": ""}))
    if rng.random() < 0.4:
        made = made.with_tokens(["c<", AddedToken("<x>", lstrip=rng.random() < 0.2)])
    return made


def test_streams_and_conversations_equal_the_whole() -> None:
    n_cut = 0
    for number in range(n_rounds(120, 800, 6000)):
        rng = random.Random(f"stream cuts {number}")
        tokenizer = drawn(rng)
        allowed = rng.choice(["all", frozenset()])
        stream = tokenizer.encoder(allowed_special=allowed, disallowed_special=())
        conversation = tokenizer.conversation(allowed_special=allowed, disallowed_special=())
        whole, ids = "", []
        for _ in range(12):
            text = "".join(rng.choices(LETTERS, k=rng.randrange(9)))
            found = stream.push(text)
            n_cut += bool(found)
            whole, ids = whole + text, ids + found
            conversation.append(text)
        expected = tokenizer.encode(whole, allowed_special=allowed, disallowed_special=())
        assert ids + stream.finish() == expected, (number, whole)
        assert conversation.ids == expected, (number, whole)
        start, end = sorted(rng.choices(range(len(whole) + 1), k=2))
        conversation.replace(start, end, "b<s>")
        assert conversation.ids == tokenizer.encode(
            conversation.text, allowed_special=allowed, disallowed_special=()
        ), (number, whole)
    assert n_cut > 100


def test_long_conversations_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.conversation._SEGMENT_CHARACTERS", 4)
    for number in range(60):
        rng = random.Random(f"segments {number}")
        tokenizer = drawn(rng)
        conversation = tokenizer.conversation(disallowed_special=())
        for _ in range(8):
            start, end = sorted(rng.choices(range(len(conversation) + 1), k=2))
            conversation.replace(start, end, "".join(rng.choices(LETTERS, k=rng.randrange(20))))
            assert conversation.ids == tokenizer.encode(conversation.text, disallowed_special=()), number


def test_a_token_that_no_merge_makes_forbids_cuts() -> None:
    ranks = {**BYTES, b"abc": 256}
    whole = Tokenizer.from_ranks(ranks, pattern=None)
    assert whole.encode("abc") == [256]
    assert whole.encode("xabc") == [*b"xabc"]
    stream = whole.encoder()
    assert stream.push("xabc" * 9) == []
    assert stream.finish() == [*b"xabc" * 9]


def test_endless_text_without_a_pattern_takes_bounded_memory() -> None:
    tokenizer = fastbpe.train(["low lower lowest"], vocab_size=262, pattern=None, progress=False)
    stream = tokenizer.encoder()
    for _ in range(200):
        assert stream.push("lowest of the low, " * 10)
        assert sum(map(len, stream._held)) < 20


def test_pairs_of_tokens_are_no_cuts() -> None:
    cuts = PairCuts(["é".encode(), b"ab"])
    assert [at for at in range(1, 5) if cuts.near("abéab", at - 1, at) == at] == [2, 3]
    assert cuts.without([b"b\xc3"]).near("abéab", 0, 2) == 3
    assert cuts.near("ab", 0, 1) == 2
    assert cuts.near("x\ud83d\udc4dy", 0, 3) == 4  # half of a pair stands beside each position
