"""Pairs of a ranked vocabulary: every split of every token into two tokens, and nothing else."""

from __future__ import annotations

import random

from fastbpe._core.merge.table_builder import build_tables
from helpers.shared_data import BYTES

RANK = (1 << 21) - 1


def vocabulary(rng: random.Random) -> list[bytes]:
    """Return tokens made of other tokens, some longer than one block of the algorithm, some repeated, and unused
    ids."""
    tokens = [*BYTES]
    alphabet = [bytes([byte]) for byte in rng.sample(range(256), rng.randint(1, 4))]
    for _ in range(rng.randint(0, 60)):
        kind = rng.random()
        made = rng.choice(tokens[256:] or alphabet) + rng.choice([*tokens[256:], *alphabet])
        if kind < 0.1:
            made = rng.choice(alphabet) * rng.randint(60, 70)
        elif kind < 0.15:
            made = b"".join(rng.choices(alphabet, k=rng.randint(2, 12)))
        elif kind < 0.2:
            made = rng.choice(tokens)
        elif kind < 0.25:
            made = b""
        tokens.append(made[:200])
    return tokens


def listed(tokens: list[bytes]) -> set[tuple[int, int, int]]:
    first: dict[bytes, int] = {}
    for i, token in enumerate(tokens):
        first.setdefault(token, i)
    return {
        (first[token[:at]], first[token[at:]], i)
        for token, i in first.items()
        for at in range(1, len(token))
        if token[:at] in first and token[at:] in first
    }


def test_table_holds_every_split_and_nothing_else() -> None:
    rng = random.Random(21)
    for _ in range(300):
        tokens = vocabulary(rng)
        table = memoryview(build_tables(tokens)["pair_lines"]).cast("Q")
        found = [(word >> 42, word >> 21 & RANK, word & RANK) for word in table if word != 2**64 - 1]
        assert len(found) == len({*found})
        assert {*found} == listed(tokens)
