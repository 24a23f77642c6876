"""Each fuzz target takes its seeds, changed at random, without a fault. `run.py` looks further, with coverage."""

from __future__ import annotations

import random
from functools import cache

import pytest

from fuzz import parsers, seeds, twins
from helpers.sampling import SEED, n_rounds, some

TARGETS = {**parsers.TARGETS, **twins.TARGETS}


@cache
def made() -> dict[str, list[bytes]]:
    return seeds.make()


def changed(data: bytes, rng: random.Random) -> bytes:
    """Flip, drop, repeat or cut off some bytes."""
    out = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at, n = rng.randrange(len(out) + 1), rng.randrange(1, 9)
        match rng.randrange(4):
            case 0:
                out[at : at + n] = b""
            case 1:
                out[at:at] = out[at : at + n] * rng.randrange(1, 4)
            case 2:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 3 if rng.random() < 0.3:
                del out[at:]
    return bytes(out)


def test_every_target_has_seeds() -> None:
    assert made().keys() == TARGETS.keys()
    assert all(made().values())


@pytest.mark.sample(6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_target_finds_no_fault(name: str) -> None:
    rng = random.Random(f"{SEED} {name}")
    for data in some(made()[name], 8):
        TARGETS[name](data)
    for _ in range(n_rounds(20, 2000)):
        TARGETS[name](changed(rng.choice(made()[name]), rng))
