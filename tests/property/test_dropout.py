"""Dropout: the ids of the slow twin for the same random numbers, and the promises of `encode(dropout=, seed=)`."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import SpecialTokenError, Tokenizer
from fastbpe._core.encode.offsets import pieces
from helpers.sampling import SEED
from reference.dropout import merge_dropping

WORDS = "the quick brown fox jumps over the lazy dog, the cat sat on that mat; banana bandana "
BYTES = fastbpe.train([WORDS * 3], vocab_size=300, special_tokens=["<x>"], pattern="gpt2", progress=False)
WHOLE = fastbpe.train([WORDS * 3], vocab_size=300, pattern=None, progress=False)
LISTED = Tokenizer.from_merges([(104, 101), (116, 104), (116, 256), (97, 110), (259, 97)], pattern=None)
POINTS = fastbpe.train(
    [WORDS * 3], mode="codepoint", vocab_size=330, hard_vocab_limit=False, byte_fallback=True, progress=False
)
POINTS.encode("a")  # makes its tables
KINDS = {"bytes": BYTES, "whole": WHOLE, "listed": LISTED, "points": POINTS}
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(h: int) -> int:
    h = ((h ^ (h >> 32)) * 0xD6E8FEB86659FD93) & MASK
    h = ((h ^ (h >> 29)) * 0x9FB21C651E98DF25) & MASK
    return h ^ (h >> 32)


def draws(rate: float, seed: int, index: int = 0) -> Callable[[], bool]:
    """Return the function that tells for each pair whether it is dropped, for a text of a batch."""
    state = mixed((mixed((seed + GOLDEN) & MASK) + index * GOLDEN) & MASK)

    def is_dropped() -> bool:
        nonlocal state
        state = (state + GOLDEN) & MASK
        return (mixed(state) >> 11) / 2.0**53 < rate

    return is_dropped


def expected(tokenizer: Tokenizer, text: str, rate: float, seed: int, index: int = 0) -> list[int]:
    """Encode by the slow twin, each piece with the merges that the tokenizer lists."""
    merges = {pair: (i, 256 + i) for i, pair in enumerate(tokenizer.merges)}
    is_dropped = draws(rate, seed, index)
    return [
        token_id
        for start, end in tokenizer.pieces(text)
        for token_id in merge_dropping(merges, text[start:end].encode(), is_dropped, again=True)
    ]


TEXTS = st.lists(st.sampled_from([*WORDS.split(), " the", "é", "anana", " "]), max_size=12).map("".join)
RATES = st.sampled_from([1e-300, 0.1, 0.5, 0.9, 1, 1.0])


@pytest.mark.daily
@settings(deadline=None)
@given(st.sampled_from(["bytes", "whole", "listed"]), TEXTS, RATES, st.integers(0, MASK))
@example("whole", "thethethethe", 0.5, 0)
def test_ids_equal_the_slow_twin(kind: str, text: str, rate: float, seed: int) -> None:
    tokenizer = KINDS[kind]
    ids = tokenizer.encode(text, dropout=rate, seed=seed)
    assert ids == expected(tokenizer, text, rate, seed)
    assert tokenizer.decode(ids) == text
    batch = tokenizer.encode_batch([text, text + "the"], dropout=rate, seed=seed)
    assert batch == [ids, expected(tokenizer, text + "the", rate, seed, 1)]


@pytest.mark.daily
@settings(deadline=None)
@given(TEXTS, RATES, st.integers(0, MASK))
def test_code_points_follow_the_slow_twin(text: str, rate: float, seed: int) -> None:
    """Compare words without characters that are not a piece: those become ids of bytes."""
    text = text.replace(" ", "").replace("é", "").replace(",", "").replace(";", "")
    names = {i: POINTS.id_to_token(i).decode("utf-8", "replace") for i in range(POINTS.n_vocab)}
    ids_of = {name: i for i, name in names.items()}
    names = {i: name for name, i in ids_of.items()}  # of a character that is a piece, not of its byte
    characters = f" {text}" if text else ""
    if not all(character in ids_of for character in characters):
        return
    merges = {
        (a, b): (ids_of[names[a] + names[b]],) * 2 for a in names for b in names if names[a] + names[b] in ids_of
    }
    is_dropped, symbols = draws(rate, seed), [ids_of[character] for character in characters]
    cuts = pieces(POINTS._pipeline.splitter, f" {text}") if text else []  # no piece of the model goes across them
    ids = [
        token_id
        for start, end in cuts
        for token_id in merge_dropping(merges, symbols[start:end], is_dropped, again=False)
    ]
    assert POINTS.encode(text, dropout=rate, seed=seed) == ids


@pytest.mark.parametrize("kind", KINDS)
def test_no_dropout_gives_the_ids_of_encode(kind: str) -> None:
    tokenizer = KINDS[kind]
    for text in ("", WORDS, "é👍 <y>", WORDS * 3000):
        for rate in (None, 0, 0.0):
            assert tokenizer.encode(text, dropout=rate) == tokenizer.encode(text)
            assert tokenizer.encode_batch([text, "a"], dropout=rate) == tokenizer.encode_batch([text, "a"])
        assert tokenizer.encode(text, dropout=1e-300, seed=5) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", ["bytes", "whole", "listed"])
def test_full_dropout_gives_bytes(kind: str) -> None:
    for text in ("", WORDS, "é👍"):
        assert KINDS[kind].encode(text, dropout=1) == list(text.encode())


def test_full_dropout_gives_characters() -> None:
    ids = POINTS.encode("the é dog", dropout=1)
    tokens = [POINTS.id_to_token(i) for i in ids]
    assert b"".join(tokens).decode().strip() == "the é dog"
    assert all(len(token) == 1 for token in tokens if token.isalpha())


@pytest.mark.daily
@pytest.mark.parametrize("kind", KINDS)
def test_ids_depend_on_seed_and_place_but_not_on_threads(kind: str) -> None:
    tokenizer = KINDS[kind]
    rng = random.Random(SEED)
    texts = [WORDS[rng.randrange(60) :] * rng.choice([1, 3, 500]) for _ in range(60)]
    batches = [tokenizer.encode_batch(texts, dropout=0.3, seed=9, num_threads=n) for n in (1, 2, 5)]
    assert batches[0] == batches[1] == batches[2], SEED
    assert batches[0] != tokenizer.encode_batch(texts, dropout=0.3, seed=10)
    assert batches[0] == tokenizer.encode_batch(iter(texts), dropout=0.3, seed=9)
    assert tokenizer.encode(texts[0], dropout=0.3, seed=9, num_threads=4) == batches[0][0]
    same = tokenizer.encode_batch([WORDS] * 9, dropout=0.3, seed=9)
    assert len({tuple(ids) for ids in same}) > 1
    assert [tokenizer.decode(ids) for ids in batches[0]] == [tokenizer.decode(tokenizer.encode(t)) for t in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_hold_the_ids_of_the_lists(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    tokenizer = KINDS[kind]
    texts = ["", WORDS, "é👍", WORDS * 200, "a"]
    for rate in (0, 0.3, 1):
        lists = tokenizer.encode_batch(texts, dropout=rate, seed=9)
        ids, offsets = tokenizer.encode_batch_to_numpy(texts, dropout=rate, seed=9, num_threads=2)
        assert (ids.dtype, offsets.dtype) == (numpy.uint32, numpy.int64)
        assert [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())] == lists
        for text in texts:
            one = tokenizer.encode_to_numpy(text, dropout=rate, seed=9)
            assert one.dtype == numpy.uint32
            assert one.tolist() == tokenizer.encode(text, dropout=rate, seed=9)
        out = numpy.zeros(len(ids) + 5, numpy.uint16)
        found, _ = tokenizer.encode_batch_to_numpy(texts, dropout=rate, seed=9, out=out)
        assert numpy.shares_memory(found, out)
        assert found.tolist() == ids.tolist()
        assert tokenizer.encode_to_numpy(WORDS, dropout=rate, seed=9, dtype="int64").dtype == numpy.int64
    assert tokenizer.encode_batch_to_numpy([], dropout=0.5)[1].tolist() == [0]


def test_without_a_seed_ids_differ_between_calls() -> None:
    assert len({tuple(BYTES.encode(WORDS * 5, dropout=0.5)) for _ in range(8)}) == 8
    assert len({tuple(BYTES.encode_batch([WORDS * 5], dropout=0.5)[0]) for _ in range(8)}) == 8


def test_special_tokens_stay_whole_and_disallowed_ones_raise() -> None:
    special = BYTES.special_tokens["<x>"]
    ids = BYTES.encode("the<x>dog", allowed_special="all", dropout=1)
    assert ids == [*b"the", special, *b"dog"]
    with pytest.raises(SpecialTokenError):
        BYTES.encode("the<x>dog", dropout=0.5)
    with pytest.raises(SpecialTokenError) as caught:
        BYTES.encode_batch(["a", "the<x>dog"], dropout=0.5)
    assert "texts[1]" in str(caught.value.__notes__)
    assert BYTES.encode("<x>", disallowed_special=(), dropout=1) == [*b"<x>"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dropout": -0.1}, ValueError, "dropout=-0.1: must be a probability from 0 to 1"),
        ({"dropout": 1.01}, ValueError, "dropout=1.01"),
        ({"dropout": float("nan")}, ValueError, "dropout=nan"),
        ({"dropout": "0.1"}, TypeError, "dropout must be a number, not str"),
        ({"dropout": True}, TypeError, "dropout must be a number, not bool"),
        ({"dropout": 0.1, "seed": -1}, ValueError, "seed=-1: must be 0 to"),
        ({"dropout": 0.1, "seed": 1 << 64}, ValueError, "seed=18446744073709551616"),
        ({"dropout": 0, "seed": 0.5}, TypeError, "seed must be an integer, not float"),
        ({"seed": 1}, ValueError, "seed=1 has no effect without dropout=; pass both"),
        ({"dropout": 0.1, "num_threads": 0}, ValueError, "num_threads=0"),
    ],
)
def test_bad_arguments_raise(kind: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        KINDS[kind].encode("the", **options)
    with pytest.raises(error, match=message):
        KINDS[kind].encode_batch(["the"], **options)
    with pytest.raises(error, match=message):
        KINDS[kind].encode_to_numpy("the", **options)
    with pytest.raises(error, match=message):
        KINDS[kind].encode_batch_to_numpy(["the"], **options)
    with pytest.raises(TypeError):
        KINDS[kind].encode(None, dropout=0.5)  # type: ignore[arg-type]


def test_encoding_without_dropout_is_as_before_after_calls_with_it() -> None:
    before = BYTES.encode(WORDS)
    for seed in range(20):
        BYTES.encode(WORDS, dropout=0.5, seed=seed)
        with pytest.raises(ValueError, match="UTF-8"):
            BYTES.encode(b"\xff", dropout=0.5)
    assert BYTES.encode(WORDS) == before
    assert BYTES.count(WORDS) == len(before)


def test_long_pieces_take_time_in_proportion() -> None:
    text = WORDS.replace(" ", "") * 3000
    for rate in (0.1, 0.9):
        assert WHOLE.decode(WHOLE.encode(text, dropout=rate, seed=1)) == text


def test_dropout_works_with_normalizers_and_byte_less_vocabularies(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.normalizer = tokenizers.normalizers.Lowercase()
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    peer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=60, show_progress=False)  # without most bytes
    peer.train_from_iterator([WORDS], trainer)
    path = tmp_path / "tokenizer.json"
    peer.save(str(path))
    ours = fastbpe.load(path)
    peer.model.dropout = 1.0
    for text in ("The Fox", "thé dog!", "", " the"):
        assert ours.encode(text, dropout=1) == peer.encode(text).ids
