"""Worked examples of the slow twin."""

import base64
import doctest
import importlib
from typing import Any

import pytest
import regex

from helpers.shared_data import BYTES, OVERLAPS, data_file
from reference import STAND_IN_ORDER, decode, encode, merge_pairs, merge_ranks, train

TWINS_WITH_EXAMPLES = [
    "encoding",
    "longest_match",
    "measuring",
    "normalization",
    "numbers",
    "sentencepiece",
    "splitting",
    "training",
    "unigram",
    "unigram_training",
]


@pytest.mark.parametrize("module", TWINS_WITH_EXAMPLES)
def test_doctests_of_the_slow_twin_pass(module: str) -> None:
    results = doctest.testmod(importlib.import_module(f"reference.{module}"))
    assert results.attempted > 0
    assert results.failed == 0


def learned(text: str, n_merges: int = 99, **options: Any) -> list[str]:
    """Train on the words of a text, each with the space before it, and return the learned tokens."""
    pieces = ((word.encode(), 1) for word in regex.findall(r" ?\w+", text))
    return [token.decode() for token in train(pieces, n_merges=n_merges, **options).tokens[256:]]


@pytest.mark.parametrize(("text", "tokens"), OVERLAPS)
def test_overlapping_occurrences_of_pairs_are_learned_as_listed(text: str, tokens: list[str]) -> None:
    assert learned(text) == tokens


def test_pair_ties_prefer_the_smaller_pair() -> None:
    assert learned("ab cd ef gh", 4) == [" c", " e", " g", "ab"]
    assert learned("zb ya") == [" y", "zb", " ya"]


def test_huggingface_ties_prefer_the_smaller_stand_in_pair() -> None:
    assert learned("ab cd ef gh", 4, ties="huggingface") == ["ab", "cd", "ef", "gh"]
    assert learned("lo lo r r", 2, ties="pair") == [" r", "lo"]
    assert learned("lo lo r r", 2, ties="huggingface") == ["lo", " r"]


def test_first_ties_prefer_the_pair_that_occurs_first() -> None:
    assert learned("zb ya", ties="first") == ["zb", " y", " ya"]


def test_first_ties_use_the_text_as_merged_so_far() -> None:
    """`bc` comes before `ca` in the original text, but after it in the merged text."""
    pieces = [(b"abc", 1), (b"ab", 1), (b"ca", 1), (b"bc", 1), (b"ca", 1), (b"ab", 1)]
    assert train(pieces, n_merges=3, ties="first").tokens[256:] == [b"ab", b"ca", b"abc"]


def test_training_stops_at_each_limit() -> None:
    assert learned("ab abc", 0) == []
    assert learned("") == []
    assert learned("a b c") == [" b", " c"]
    assert learned("ab ab cab", min_count=2) == ["ab"]
    assert learned("ab ab cab", min_count=4) == []
    assert learned("abcd", max_token_bytes=1) == []
    assert learned("abcd", max_token_bytes=3) == ["ab", "cd"]


def test_huge_counts_do_not_overflow() -> None:
    pieces = {b" " * 80 + b"x\n": 30_000_000, b"aa": 3_000_000_000, b"the": 5_000_000_000}
    assert train(pieces, n_merges=3).tokens[256:] == [b"he", b"the", b"aa"]


def test_repeated_pieces_add_up() -> None:
    assert train([(b"ab", 1), (b"cd", 2), (b"ab", 2)], n_merges=1).tokens[256] == b"ab"


def test_stand_in_order_is_the_code_point_order_of_gpt2_characters() -> None:
    assert sorted(STAND_IN_ORDER) == list(range(256))
    assert bytes(STAND_IN_ORDER[:3]) == b'!"#'
    assert STAND_IN_ORDER[188:] == [*range(33), *range(127, 161), 173]


def test_whole_piece_is_looked_up_before_merging() -> None:
    ranks = {**BYTES, b"ab": 256, b"bcd": 257}
    assert merge_ranks(ranks, b"bcd") == [257]
    assert merge_ranks(ranks, b"bcde") == [98, 99, 100, 101]
    assert merge_ranks(ranks, b"") == []


def test_leftmost_of_equal_pairs_is_merged() -> None:
    assert merge_ranks({**BYTES, b"aa": 256}, b"aaa") == [256, 97]
    assert merge_pairs({(97, 97): (0, 256)}, b"aaa") == [256, 97]


def test_unknown_byte_raises_key_error() -> None:
    with pytest.raises(KeyError):
        merge_ranks({b"a": 0}, b"ab")


def test_surrogate_pairs_are_joined_and_lone_ones_replaced() -> None:
    assert encode("\ud83d\udc4d", BYTES) == list("👍".encode())
    assert encode("a\ud83d", BYTES) == list("a\ufffd".encode())


def test_decode_undoes_encode() -> None:
    text = "aaabdaaabac 안녕 \0"
    tokens = train({text.encode(): 1}, n_merges=5).tokens
    ranks = {token: rank for rank, token in enumerate(tokens)}
    assert decode(encode(text, ranks), tokens).decode() == text


def test_cl100k_ids_equal_tiktoken() -> None:
    """The expected ids come from tiktoken 0.14.0."""
    lines = map(str.split, data_file("vocab", "cl100k_base.tiktoken").read_text().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    pattern = regex.compile(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    )
    ids = encode("hello123!!!? (안녕하세요!) 😉", ranks, pattern.findall)
    assert ids == [15339, 4513, 12340, 30, 320, 31495, 230, 75265, 243, 92245, 16715, 57037]
