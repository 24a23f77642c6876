"""Turn text that is ready to be split into ids."""

from typing import final

from typing_extensions import Self

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizing
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage

@final
class PieceSteps:
    def __new__(
        cls,
        vocabulary: Vocabulary,
        splitter: Splitter,
        *,
        normalizing: Normalizing | None = None,
        stages: Stage | None = None,
        cut_stages: Stage | None = None,
        phases: TwoPhases | None = None,
    ) -> Self: ...
