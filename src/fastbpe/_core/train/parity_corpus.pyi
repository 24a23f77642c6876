from collections.abc import Callable
from typing import Any, final

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.token_texts import TokenTexts

@final
class Corpus(Learner):
    def __init__(
        self, source: PieceCounter | Sequences, texts: TokenTexts, *, chooses: bool, **options: Any
    ) -> None: ...
    def report_to(self, progress: Callable[[int], object] | None) -> None: ...
