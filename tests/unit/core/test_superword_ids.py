"""Finding tokens that span words, compared with a search of each token."""

from __future__ import annotations

import random
import re

from fastbpe._core.cache.two_phases import superword_ids
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


def test_random_tokens_give_the_ids_that_a_search_finds() -> None:
    rng = random.Random(7)
    n_found = 0
    for _ in range(500):
        drawn = {bytes(rng.choices(b"az @`{[Z\xe1", k=rng.randrange(5))) for _ in range(rng.randrange(1, 9))}
        tokens = rng.sample(sorted(drawn), len(drawn))
        assert found(tokens) == superwords(tokens), tokens
        n_found += bool(superwords(tokens))
    assert n_found > 50
