"""Cuts that the vocabulary allows: streams and conversations without a split pattern equal encoding the whole."""

from __future__ import annotations

import random
from typing import Any

import pytest

import fastbpe
from fastbpe import AddedToken, Tokenizer
from fastbpe._core.encode.text_cuts import encode_part as encode_part_of
from fastbpe.model import PieceType, Supermerges, pack_merges
from fastbpe.tokenizer.streams.stream_cuts import PairCuts
from helpers import random_exports
from helpers.codepoint_models import model_of
from helpers.sampling import rounds, share_of
from helpers.shared_data import BYTES

LETTERS = ["a", "b", "c", " ", "▁", "é", "漢", "<s>", "<", "d", "ab", "\ud83d", "👍", "1"]


def drawn(rng: random.Random) -> Tokenizer:
    """Draw a tokenizer without a scanner, with special or added tokens."""
    while True:
        tokenizer = random_exports.draw(rng)[1]
        if tokenizer.mode == "byte" and not any(fastbpe.steps(tokenizer).values()):
            break
    model = tokenizer._family.model
    pattern = rng.choice([None, None, "[a-z]", r"\w+", "[ab]+", r"\s+"])
    made = Tokenizer(model._replace(pattern=pattern, fingerprint=""))
    if rng.random() < 0.4:
        made = made.with_tokens(["c<", AddedToken("<x>", lstrip=rng.random() < 0.2)])
    return made


def drawn_code_points(rng: random.Random) -> Tokenizer:
    """Draw a code-point tokenizer whose pieces may have spaces inside."""
    bits = rng.choices(LETTERS[:-2], k=12)
    return fastbpe.train(
        ["".join(rng.choices(bits, k=9)) for _ in range(30)],
        mode="codepoint",
        vocab_size=300,
        hard_vocab_limit=False,
        split_by_whitespace=False,
        allow_whitespace_only_pieces=rng.random() < 0.5,
        normalization_rule_name="identity",
        remove_extra_whitespaces=rng.random() < 0.1,
        add_dummy_prefix=rng.random() < 0.5,
        byte_fallback=rng.random() < 0.5,
        max_sentencepiece_length=rng.choice([2, 3, 16]),
        control_symbols=["<s>"],
        progress=False,
    )


def drawn_of(mode: str, rng: random.Random) -> Tokenizer:
    return drawn(rng) if mode == "byte" else drawn_code_points(rng)


@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_streams_and_conversations_equal_the_whole(mode: str) -> None:
    n_cut = 0
    for number in rounds(120, 6000):
        rng = random.Random(f"stream cuts {number}")
        tokenizer = drawn_of(mode, rng)
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
    assert n_cut > share_of(20)


@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_interval_counts_and_joins_equal_encoding_the_parts(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.streams.interval_counts._STEP", 3)
    n_cuts = 0
    for number in rounds(60, 3000):
        rng = random.Random(f"intervals {number}")
        for module in (
            "stream_cuts",
            "interval_counts",
            "joints",
        ):  # few places, so that some stretches have no cut
            monkeypatch.setattr(f"fastbpe.tokenizer.streams.{module}.NEARBY_CHARACTERS", rng.choice([2, 4096]))
        tokenizer = drawn_of(mode, rng)
        text = "".join(rng.choices(LETTERS, k=rng.randrange(40)))
        counter = tokenizer.interval_counter(text)
        n_cuts += len(counter._cuts)
        allowed = rng.choice(["all", frozenset()])
        for _ in range(20):
            start, middle, end = sorted(rng.choices(range(len(text) + 1), k=3))
            assert counter(start, end) == tokenizer.count(text[start:end]), (number, text, start, end)
            a, b = text[start:middle], text[middle:end]
            parts = [
                tokenizer.encode(part, allowed_special=allowed, disallowed_special=()) for part in (a, b, a + b)
            ]
            is_sum = parts[0] + parts[1] == parts[2]
            assert fastbpe.joins(tokenizer, a, b, allowed_special=allowed) == is_sum, (number, a, b)
    assert n_cuts > share_of(20)


def test_unknown_characters_on_both_sides_of_a_cut_share_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.streams.interval_counts._STEP", 1)
    # "b" and "c" are unknown alone. The piece with a space inside leaves only cuts of pairs.
    pieces = [(piece.encode(), -1.0, PieceType.NORMAL) for piece in ("▁", "a", "a▁", "bb", "ab", "bcc")]
    unknown = (b"<unk>", 0.0, PieceType.UNKNOWN)
    options = {"remove_extra_whitespaces": False, "add_dummy_prefix": False}
    tokenizer = fastbpe.load(model_of([unknown, *pieces], normalizer=options))
    assert fastbpe.joins(tokenizer, "漢b", "bb漢")
    assert fastbpe.joins(tokenizer, "漢b", "bbc")
    rng = random.Random(0)
    for number in range(300):
        monkeypatch.setattr("fastbpe.tokenizer.streams.conversation._SEGMENT_CHARACTERS", 1 + number % 4)
        text = "".join(rng.choices("ab 漢", k=9))
        start, end = sorted(rng.choices(range(len(text) + 1), k=2))
        stream, counter = tokenizer.encoder(), tokenizer.interval_counter(text)
        ids = tokenizer.encode(text)
        assert [i for character in text for i in stream.push(character)] + stream.finish() == ids, text
        assert counter(start, end) == tokenizer.count(text[start:end]), (text, start, end)
        is_sum = tokenizer.encode(text[:start]) + tokenizer.encode(text[start:]) == ids
        assert fastbpe.joins(tokenizer, text[:start], text[start:]) == is_sum, (text, start)
        conversation = tokenizer.conversation()
        conversation.append(text)
        conversation.replace(start, end, rng.choice(["", "漢"]))
        assert conversation.ids == tokenizer.encode(conversation.text), (text, start, end)
        whole, n_ids, side = conversation.text, rng.randrange(1 + len(ids)), rng.choice(["left", "right"])
        conversation.truncate_to(n_ids, side=side)
        assert conversation.ids == tokenizer.encode(conversation.text), (whole, n_ids, side)
        assert len(conversation.ids) <= n_ids, (whole, n_ids, side)
        n_more = len(conversation) + 1
        more = whole[:n_more] if side == "right" else whole[-n_more:]
        assert more == conversation.text or tokenizer.count(more) > n_ids, (whole, n_ids, side)


def test_text_after_a_token_that_ends_in_a_letter_keeps_its_dummy_prefix() -> None:
    tokenizer = fastbpe.train(
        ["ab ab"],
        mode="codepoint",
        vocab_size=30,
        hard_vocab_limit=False,
        remove_extra_whitespaces=False,
        control_symbols=["token"],
        progress=False,
    )
    stream, text = tokenizer.encoder(allowed_special="all"), "ab ab token ab token ab"
    ids = [i for character in text for i in stream.push(character)]
    assert ids + stream.finish() == tokenizer.encode(text, allowed_special="all")


@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_interval_counts_and_joins_without_a_pattern_encode_only_what_is_near(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"pattern": None}
    if mode == "codepoint":
        options = {"split_by_whitespace": False, "normalization_rule_name": "identity"}
        options |= {"remove_extra_whitespaces": False, "hard_vocab_limit": False}
    tokenizer = fastbpe.train(
        ["lowest low"], mode=mode, vocab_size=262 if mode == "byte" else 270, progress=False, **options
    )
    text = "lowest of the low, " * 2_000
    counter = tokenizer.interval_counter(text)
    expected = tokenizer.count(text[100:37_000])
    n_read = []

    def encode_part(pipeline: Any, text: str, start: int, end: int, *rest: Any) -> Any:
        n_read.append(end - start)
        return encode_part_of(pipeline, text, start, end, *rest)

    for module in ("interval_counts", "joints"):
        monkeypatch.setattr(f"fastbpe.tokenizer.streams.{module}.encode_part", encode_part)
    assert counter(100, 37_000) == expected
    assert not fastbpe.joins(tokenizer, text, text)  # a token has the space and the letter at the joint
    assert fastbpe.joins(tokenizer, text[:-1], text) is (
        mode == "byte"
    )  # the dummy prefix changes the second text
    assert sum(n_read) < 2_000


def test_stretch_without_cuts_does_not_hide_later_cuts() -> None:
    tokenizer = fastbpe.train(["====", "low lower"], vocab_size=262, pattern=None, progress=False)
    text = "a b c " * 100 + "=" * 9_000 + "a b c " * 500
    counter = tokenizer.interval_counter(text)
    assert counter._cuts[0] < 600
    assert sum(cut > 9_600 for cut in counter._cuts) > 5
    for start, end in [(0, len(text)), (5, 700), (9_700, 12_000), (300, 11_000)]:
        assert counter(start, end) == tokenizer.count(text[start:end])


def test_long_conversations_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.streams.conversation._SEGMENT_CHARACTERS", 4)
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


def test_supermerges_forbid_cuts() -> None:
    words = Tokenizer.from_merges([(97, 98)], pattern=r"[a-z]+|[ ]+")
    model = words._family.model._replace(
        tokens=[*words.vocab[:257], b" ab"],
        tables=None,
        merges=pack_merges([(97, 98, 256)]),
        merges_rule="merges",
        whole_piece_first=False,
        supermerges=Supermerges(pack_merges([(32, 256, 257)])),
        fingerprint="",
    )
    tokenizer = Tokenizer(model)
    stream = tokenizer.encoder()
    ids = [i for character in "x abq x" for i in stream.push(character)] + stream.finish()
    assert ids == tokenizer.encode("x abq x") == [120, 32, 256, 113, 32, 120]
    assert fastbpe.joins(tokenizer, "x ", "abq x")


def test_u2581_beside_a_space_is_not_cut() -> None:
    tokenizer = fastbpe.train(
        ["    ", "a    b"] * 5,
        mode="codepoint",
        vocab_size=300,
        hard_vocab_limit=False,
        split_by_whitespace=False,
        allow_whitespace_only_pieces=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        progress=False,
    )
    for text in ("a\u2581 b a", "a \u2581b a"):
        stream = tokenizer.encoder()
        assert [i for c in text for i in stream.push(c)] + stream.finish() == tokenizer.encode(text)


def test_endless_text_without_a_pattern_takes_bounded_memory() -> None:
    tokenizer = fastbpe.train(["low lower lowest"], vocab_size=262, pattern=None, progress=False)
    stream = tokenizer.encoder()
    for _ in range(200):
        assert stream.push("lowest of the low, " * 10)
        assert sum(map(len, stream._held)) < 20


def test_pairs_of_tokens_are_not_cuts() -> None:
    cuts = PairCuts(["é".encode(), b"ab"])
    assert [at for at in range(1, 5) if cuts.near("abéab", at - 1, at) == at] == [2, 3]
    assert cuts.without([b"b\xc3"]).near("abéab", 0, 2) == 3
    assert cuts.near("ab", 0, 1) == 2
    assert cuts.near("x\ud83d\udc4dy", 0, 3) == 4  # half of a pair stands beside each position
