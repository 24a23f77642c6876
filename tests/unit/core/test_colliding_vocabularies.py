"""Vocabularies whose tokens or pairs are chosen to share one place of a hash table are refused, in linear time."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastbpe import FormatError, SequenceTokenizer, Tokenizer, VocabularyError, load
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary

GOLDEN_RATIO, OTHER_RATIO = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
MASK = (1 << 64) - 1
N_IDS = 20_000  # ids to choose from
N_PARTS = 72  # left parts, and right parts: 5,184 pairs, more than the longest run that is allowed
RANKED_BITS = 21
REFUSED = "built to cause collisions; do not use it"


def nearest(factor: int, taken: frozenset[int] = frozenset()) -> list[int]:
    """Choose ids whose products with a factor have the smallest top bits."""
    free = (i for i in range(256, N_IDS) if i not in taken)
    return sorted(sorted(free, key=lambda i: i * factor & MASK)[:N_PARTS])


def parts(ranked: bool) -> tuple[list[int], list[int]]:
    """Choose ids of left and right parts whose pairs have neighbouring home slots."""
    left = nearest((GOLDEN_RATIO << RANKED_BITS) & MASK if ranked else GOLDEN_RATIO)
    return left, nearest(GOLDEN_RATIO if ranked else OTHER_RATIO, frozenset(left))


def colliding_tokens(ranked: bool) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Return the tokens of N_IDS ids and of all pairs of parts, and these pairs."""
    left, right = parts(ranked)
    pairs_of = itertools.product
    text = dict(zip(left, map(bytes, pairs_of(range(32), range(32, 64))), strict=False))
    text |= dict(zip(right, map(bytes, pairs_of(range(64, 96), range(96, 128))), strict=False))
    others: Iterator[bytes] = map(bytes, pairs_of(range(128, 256), repeat=3))
    tokens = [bytes([i]) if i < 256 else text.get(i) or next(others) for i in range(N_IDS)]
    pairs = list(pairs_of(left, right))
    return tokens + [tokens[a] + tokens[b] for a, b in pairs], pairs


def unmixed(h: int) -> int:
    """Undo `mix` of hashing."""
    h ^= h >> 32
    h = h * pow(0x9FB21C651E98DF25, -1, 1 << 64) & MASK
    h = h ^ h >> 29 ^ h >> 58
    h = h * pow(OTHER_RATIO, -1, 1 << 64) & MASK
    return h ^ h >> 32


def mixed(h: int) -> int:
    h = (h ^ h >> 32) * OTHER_RATIO & MASK
    h = (h ^ h >> 29) * 0x9FB21C651E98DF25 & MASK
    return h ^ h >> 32


def test_unmixed_is_the_inverse_of_mixed() -> None:
    assert [unmixed(mixed(i * GOLDEN_RATIO & MASK)) for i in range(1000)] == [
        i * GOLDEN_RATIO & MASK for i in range(1000)
    ]


def test_ranks_whose_pairs_collide_are_refused() -> None:
    tokens, _ = colliding_tokens(ranked=True)
    with pytest.raises(VocabularyError, match=REFUSED):
        Tokenizer.from_ranks({token: i for i, token in enumerate(tokens)}, pattern=None)


def test_file_whose_pairs_collide_is_refused(tmp_path: Path) -> None:
    tokens, _ = colliding_tokens(ranked=True)
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % i for i, token in enumerate(tokens)))
    with pytest.raises(FormatError, match=f"ranks.tiktoken: .*{REFUSED}"):
        load(path, pattern="gpt2")


def test_merges_whose_pairs_collide_are_refused() -> None:
    tokens, pairs = colliding_tokens(ranked=False)
    merges = [(left, right, N_IDS + i) for i, (left, right) in enumerate(pairs)]
    with pytest.raises(VocabularyError, match=rf"the pair \(\d+, \d+\) of token \d+ shares .*{REFUSED}"):
        build_tables(tokens, merges)


def test_sequence_merges_whose_pairs_collide_are_refused() -> None:
    left, right = parts(ranked=True)
    with pytest.raises(VocabularyError, match=rf"merge \d+: .*{REFUSED}"):
        SequenceTokenizer.from_merges(list(itertools.product(left, right)), base_size=N_IDS)


def test_tokens_whose_hashes_collide_are_refused() -> None:
    """Each token has 16 bytes, and a hash whose low half is 0."""
    begin = mixed(16 * GOLDEN_RATIO & MASK)
    inverse = pow(0xC2B2AE3D27D4EB4F, -1, 1 << 64)
    ends = ((unmixed(i << 32) ^ begin) * inverse & MASK for i in range(1, 5000))
    tokens = [bytes([i]) for i in range(256)] + [bytes(8) + end.to_bytes(8, "little") for end in ends]
    with pytest.raises(VocabularyError, match=rf"token \d+ shares .*{REFUSED}"):
        build_tables(tokens)


def test_table_with_a_long_run_of_full_slots_is_refused() -> None:
    tables = build_tables([bytes([i]) for i in range(256)])
    full, empty = bytes(8), b"\xff" * 8  # a full slot leads to token 0
    tables["pieces"] = full * 5000 + empty * (8192 - 5000)
    with pytest.raises(VocabularyError, match="more than 4096 full slots in a row"):
        Vocabulary(**tables)


@pytest.mark.daily
def test_long_list_of_neighbouring_pairs_is_taken() -> None:
    """Pairs in arithmetic progressions, as sequences of codes have, spread over the table."""
    n = 50_000
    for pairs in (
        [(i, i + 1) for i in range(n)],
        [(0, i) for i in range(n)],
        [(i, 0) for i in range(n)],
        [(i, i) for i in range(n)],
        [(i % 224, i // 224) for i in range(n)],
    ):
        assert SequenceTokenizer.from_merges(pairs, base_size=n + 1).vocab_size == 2 * n + 1
