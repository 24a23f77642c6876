"""Random numbers for sampling: one stream for the process, from a seed that can be set."""

from __future__ import annotations

import random

from fastbpe.sentencepiece._arguments import whole_number
from fastbpe.sentencepiece._errors import ArgumentTypeError

_stream = random.Random()


def set_random_generator_seed(seed: int, /) -> None:
    """Restart the stream of random numbers: the same calls then sample the same, with any number of threads.

    seed: 0 to 2**32 - 1. The samples differ from sentencepiece's.
    """
    number = whole_number(seed)
    if not 0 <= number < 1 << 32:
        raise ArgumentTypeError(f"seed={number}: must be 0 to 2**32 - 1")
    _stream.seed(number)


def draw_seed() -> int:
    """Return the next seed of the stream, for one text."""
    return _stream.getrandbits(64)


SetRandomGeneratorSeed = set_random_generator_seed
