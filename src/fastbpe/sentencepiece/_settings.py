"""Process-wide settings: the random numbers for sampling, and the time limit of n-best encoding."""

from __future__ import annotations

from functools import cache

from fastbpe._utils.short_reprs import short_repr
from fastbpe.sentencepiece._arguments import int32, whole_number
from fastbpe.sentencepiece._errors import ArgumentTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from random import Random


@cache
def _stream() -> Random:
    from random import Random  # here, as few programs sample

    return Random()


def set_random_generator_seed(seed: int, /) -> None:
    """Seed the random numbers: the same calls then return the same samples, with any number of threads.

    seed: 0 to 2**32 - 1. The samples differ from sentencepiece's.
    """
    number = whole_number(seed)
    if not 0 <= number < 1 << 32:
        raise ArgumentTypeError(f"seed={short_repr(number)}: must be 0 to 2**32 - 1")
    _stream().seed(number)


def draw_seed() -> int:
    """Return the next seed of the stream, for one text."""
    return _stream().getrandbits(64)


SetRandomGeneratorSeed = set_random_generator_seed


_limit = [30_000]  # milliseconds, sentencepiece's default


def set_nbest_timeout(timeout_ms: int, /) -> None:
    """Limit the time for n-best encoding of a text. When it runs out, only the best segmentation is returned.

    timeout_ms: milliseconds; 0 or less: no limit.
    """
    _limit[0] = int32("timeout_ms", timeout_ms)


def nbest_milliseconds() -> int:
    """Return the limit in milliseconds; 0: no limit."""
    return max(_limit[0], 0)


SetNBestTimeout = set_nbest_timeout
