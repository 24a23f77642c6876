"""Compares the fast trainer with the specification, on thousands of small corpora full of ties and overlaps."""

import random

import pytest

from helpers.sampling import SEED, n_rounds
from helpers.shared_data import learned
from reference import train as reference_train

# Each run may have another seed. A failure prints it.
N_CORPORA = n_rounds(1600, 5000)
PARTS = 8


def corpus(rng: random.Random) -> list[tuple[bytes, int]]:
    """Return random pieces over an alphabet of one to four letters. Some are long runs, some are listed twice.

    Some counts are near the limit between the learner's buckets and heap, and some need more than 32 bits.
    """
    letters = b"abcd"[: rng.randint(1, 4)]
    if rng.random() < 0.2:
        letters = rng.choice([b" lor", b"\x00\xff\x80\xa0", bytes(rng.sample(range(256), 4))])[: len(letters)]
    longest = rng.choice([2, 4, 10, 40])
    pieces = []
    for _ in range(rng.randint(1, 9)):
        if rng.random() < 0.05:
            piece = bytes([rng.choice(letters)]) * rng.randint(1, 120)
        elif rng.random() < 0.3:
            word = bytes(rng.choices(letters, k=rng.randint(1, 3)))
            piece = word * rng.randint(1, 12) + bytes(rng.choices(letters, k=rng.randint(0, 2)))
        else:
            piece = bytes(rng.choices(letters, k=rng.randint(1, longest)))
        pieces.append((piece, rng.choice([1, 1, 1, 2, 3, 7, 4095, 4096, 2**33])))
    return pieces


@pytest.mark.sample(6)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("ties", ["pair", "huggingface", "first"])
def test_random_corpora_train_as_specified(ties: str, part: int) -> None:
    for number in range(part, N_CORPORA, PARTS):
        rng = random.Random(f"{SEED} {ties} {number}")
        pieces = corpus(rng)
        n_merges = rng.choice([0, 1, 3, 10, 60])
        limits = {
            "min_count": rng.choice([1, 1, 1, 2, 5, 2**33]),
            "max_token_bytes": rng.choice([None, None, 1, 2, 3, 5, 9]),
        }
        expected = reference_train(pieces, n_merges=n_merges, ties=ties, **limits).merges  # type: ignore[arg-type]
        found = learned(pieces, n_merges, ties=ties, **limits)  # type: ignore[arg-type]
        assert found == [(left, right) for left, right, _ in expected], (
            SEED,
            ties,
            number,
            pieces,
            n_merges,
            limits,
        )


@pytest.mark.parametrize("ties", ["pair", "huggingface", "first"])
def test_runs_of_every_length_train_as_specified(ties: str) -> None:
    for n in range(1, 40):
        for pieces in (
            {b"a" * n: 1},
            {b"a" * n: 2, b"a" * (n // 2 + 1): 3},
            {b"ab" * n: 1, b"a" * n + b"b": 1},
        ):
            expected = reference_train(pieces, n_merges=50, ties=ties).merges  # type: ignore[arg-type]
            assert learned(pieces, 50, ties=ties) == [(left, right) for left, right, _ in expected], (
                ties,
                pieces,
            )
