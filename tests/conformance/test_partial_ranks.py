"""Encodings of any ranks against tiktoken: bytes without a token, and the empty token."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
import tiktoken

import fastbpe
import fastbpe.tiktoken as faces
from helpers.sampling import SEED, n_rounds

METHODS = ("encode", "encode_ordinary", "_encode_single_piece")


def outcome(call: Any, *arguments: Any) -> Any:
    """The result of a call; "no byte" where a byte has no token, at which tiktoken panics."""
    try:
        return call(*arguments)
    except fastbpe.MissingByteError:
        return "no byte"
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "no byte"


def random_ranks(rng: random.Random) -> dict[bytes, int]:
    tokens = {bytes(rng.choice(b"abc\xc3\xa9") for _ in range(rng.randrange(4))) for _ in range(12)}
    ranks = rng.sample(range(20), len(tokens))
    return dict(zip(sorted(tokens), ranks, strict=True))


@pytest.mark.daily
def test_any_ranks_encode_and_decode_as_in_tiktoken() -> None:
    for number in range(n_rounds(60, 5000)):
        rng = random.Random(f"{SEED} {number} partial")
        ranks = random_ranks(rng)
        if not any(ranks):
            continue
        options = {"pat_str": r"..?", "mergeable_ranks": ranks, "special_tokens": {"<e>": 25}}
        peer, ours = tiktoken.Encoding("x", **options), faces.Encoding("x", **options)
        for _ in range(8):
            text = "".join(rng.choice("abc\u00e9") for _ in range(rng.randrange(7)))
            for method in METHODS[: None if text or b"" in ranks else 2]:
                expected = outcome(getattr(peer, method), text)
                assert outcome(getattr(ours, method), text) == expected, (ranks, text, method)
            expected = outcome(peer.encode, text)
            if expected != "no byte":
                assert ours.encode_batch([text]) == ours.encode_ordinary_batch([text]) == [expected]
                assert ours.encode_to_numpy(text).tolist() == expected
                assert ours._core_bpe.encode_ordinary(text) == expected
            else:
                assert (
                    outcome(ours.encode_batch, [text]) == outcome(ours.encode_ordinary_batch, [text]) == expected
                )
                assert outcome(ours.encode_to_numpy, text) == expected
        ids = [rng.choice([*ranks.values()]) for _ in range(6)]
        for method in ("decode", "decode_bytes", "decode_tokens_bytes"):
            assert getattr(ours, method)(ids) == getattr(peer, method)(ids)
        assert ours.token_byte_values() == peer.token_byte_values()
        assert (ours.n_vocab, ours.max_token_value) == (peer.n_vocab, peer.max_token_value)
        for token, rank in ranks.items():
            assert ours.encode_single_token(token) == peer.encode_single_token(token) == rank
        again = pickle.loads(pickle.dumps(ours))
        assert again._mergeable_ranks == ranks
        assert again.decode_bytes(ids) == peer.decode_bytes(ids)


def test_byte_without_a_token_is_named() -> None:
    ours = faces.Encoding("small", pat_str=".+", mergeable_ranks={b"a": 0, b"xyz": 1}, special_tokens={})
    assert ours.encode("xyz") == [1]  # a whole piece needs no bytes
    with pytest.raises(
        fastbpe.MissingByteError,
        match="the text contains the byte 0x62, which is not a token of 'small'; add all 256 single bytes",
    ):
        ours.encode("ab")
    assert issubclass(fastbpe.MissingByteError, (ValueError, KeyError))
