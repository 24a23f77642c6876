"""Limit of the time of n-best encoding, one for the process."""

from __future__ import annotations

from fastbpe.sentencepiece._arguments import int32

_limit = [30_000]  # milliseconds, sentencepiece's default


def set_nbest_timeout(timeout_ms: int, /) -> None:
    """Bound the time that n-best encoding of a text takes: after it the best segmentation alone is returned.

    timeout_ms: milliseconds; 0 or less: no bound.
    """
    _limit[0] = int32("timeout_ms", timeout_ms)


def nbest_milliseconds() -> int:
    """Return the limit in milliseconds; 0: no limit."""
    return max(_limit[0], 0)


SetNBestTimeout = set_nbest_timeout
