"""Scratch: the buffers and the piece cache of a thread that encodes; and the pool that lends them."""

from typing import final

from typing_extensions import Self

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.merge.vocabulary import Vocabulary

@final
class ScratchPool:
    def __new__(cls, vocabulary: Vocabulary, cache_bytes: int, *, phases: TwoPhases | None = None) -> Self: ...
