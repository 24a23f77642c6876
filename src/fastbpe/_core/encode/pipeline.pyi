"""Encode one text on one thread: the steps from a text to text that is ready to be split."""

from typing import final

from typing_extensions import Self

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.encode.piece_steps import PieceSteps
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizing
from fastbpe._core.normalize.text_steps import Front
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage
from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class Pipeline:
    def __new__(
        cls,
        pieces: PieceSteps,
        cache_bytes: int,
        *,
        front: Front | None = None,
        always: SpecialMatcher | None = None,
    ) -> Self: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def splitter(self) -> Splitter: ...
    @property
    def normalizing(self) -> Normalizing | None: ...
    @property
    def stages(self) -> Stage | None: ...
    @property
    def phases(self) -> TwoPhases | None: ...
    @property
    def cache_bytes(self) -> int: ...
    @property
    def front(self) -> Front | None: ...
    @property
    def always(self) -> SpecialMatcher | None: ...
    @property
    def used_bytes(self) -> int: ...
