"""Finding tokens that span words, compared with a search of each token."""

from __future__ import annotations

import random
import re
from array import array

import pytest

from fastbpe import Tokenizer
from fastbpe._core.cache.two_phases import TwoPhases, superword_ids
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary


def superwords(tokens: list[bytes]) -> list[int]:
    """Find them with a regular expression."""
    return [i for i, token in enumerate(tokens) if re.search(rb"[A-Za-z] ", token)]


def found(tokens: list[bytes]) -> list[int]:
    """Find them as the core does."""
    return superword_ids(Vocabulary(**build_tables(tokens), drops_bytes=True))


def test_words_that_end_where_tokens_meet_are_not_inside_a_token() -> None:
    tokens = [b"a", b" ", b"", b"b", b" c", b"", b"  ", b"Z"]
    assert found(tokens) == []


def test_superwords_may_only_name_ids_of_the_first_phase() -> None:
    words = Vocabulary(**build_tables([b"a", b"b"]), drops_bytes=True)
    with pytest.raises(ValueError, match="neighbours 1 and 2 of a superword: there are only 2 ids"):
        TwoPhases(words, array("Q", [1 << 32 | 2]))
    with pytest.raises(ValueError, match="id 2 in a superword: there are only 2 ids"):
        TwoPhases(words, array("Q"), members=[1, 2])


def test_random_tokens_give_the_ids_that_a_search_finds() -> None:
    rng = random.Random(7)
    n_found = 0
    for _ in range(500):
        drawn = {bytes(rng.choices(b"az @`{[Z\xe1", k=rng.randrange(5))) for _ in range(rng.randrange(1, 9))}
        tokens = rng.sample(sorted(drawn), len(drawn))
        assert found(tokens) == superwords(tokens), tokens
        n_found += bool(superwords(tokens))
    assert n_found > 50


@pytest.mark.parametrize(
    ("tokens", "text", "ids"),
    [
        (
            [b" cc", b"c ", b" c"],
            "c cc",
            [257, 99, 99],
        ),  # the merge before "c " joins " c", which is made after it
        ([b"aaa", b"a ", b"a b"], "aaa", [256]),  # no merge makes "aaa", only a look-up of the whole piece
    ],
)
def test_merges_around_the_first_superword_have_the_order_of_ranks(
    tokens: list[bytes], text: str, ids: list[int]
) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {token: 256 + i for i, token in enumerate(tokens)}
    assert Tokenizer.from_ranks(ranks, pattern=None).encode(text) == ids
