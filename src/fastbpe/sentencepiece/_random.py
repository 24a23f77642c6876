"""The random numbers that sampling draws from: one stream for the process, from a seed that may be set."""

from __future__ import annotations

import operator
import random

_stream = random.Random()


def set_random_generator_seed(seed: int, /) -> None:
    """Begin the stream of random numbers anew: the same calls then sample the same, whatever the threads.

    seed: 0 to 2**32 - 1. What it gives is not what sentencepiece gives.
    """
    seed = operator.index(seed)
    if not 0 <= seed < 1 << 32:
        raise TypeError(f"seed={seed}: give 0 to 2**32 - 1")
    _stream.seed(seed)


def draw_seed() -> int:
    """The next seed of the stream, for one text."""
    return _stream.getrandbits(64)


SetRandomGeneratorSeed = set_random_generator_seed
