"""The first ids of a beginning are the first ids of the whole text, whatever follows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from fastbpe.tokenizer.cutting import beginnings
from fastbpe.tokenizer.cutting.beginnings import encode_beginnings
from helpers.sampling import SEED, rounds
from helpers.streaming import BITS, NAMES, made


@pytest.mark.parametrize("splits_special", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_first_ids_are_those_of_the_whole_text(
    name: str, splits_special: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, rng = made(name), random.Random(f"{SEED} {name}")
    allowed: Any = () if splits_special else "all"
    encoded: list[Sequence[str]] = []

    def encode(texts: Sequence[str]) -> list[list[int]]:
        encoded.append(texts)
        return [tokenizer.encode(text, allowed_special=allowed, disallowed_special=()) for text in texts]

    for _ in rounds(100, 1000):
        texts = ["".join(rng.choices(BITS, k=rng.randrange(24))) for _ in range(rng.randrange(4))]
        n_ids = rng.randrange(1, 10)
        monkeypatch.setattr(beginnings, "CHARACTERS_PER_ID", rng.randrange(1, 5))
        encoded.clear()
        found = encode_beginnings(
            encode, lambda made: [*map(len, made)], tokenizer, texts, n_ids, splits_special=splits_special
        )
        assert len(encoded) in (1, 2)
        assert all(text.startswith(part) for part, text in zip(encoded[0], texts, strict=True))
        assert [ids[:n_ids] for ids in found] == [ids[:n_ids] for ids in encode(texts)], texts


def test_encoding_stops_behind_the_beginning() -> None:
    encoded: list[str] = []

    def encode(texts: Sequence[str]) -> list[list[int]]:
        encoded.extend(texts)
        return made("gpt2").encode_batch(texts)

    texts = ["the cat sat on the mat " * 1000, "short"]
    encode_beginnings(encode, lambda made: [*map(len, made)], made("gpt2"), texts, 10, splits_special=False)
    assert [*map(len, encoded)] == [pytest.approx(60, abs=10), 5]
