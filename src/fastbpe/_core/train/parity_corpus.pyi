from collections.abc import Callable
from typing import Any, final

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.token_texts import TokenTexts

@final
class Corpus(Learner):
    """Words of one language, to which the merges of all languages are applied.

    source: PieceCounter or Sequences – the words.
    texts: TokenTexts – texts of the ids; of equally frequent pairs the one with the greatest texts is taken.
    chooses: bool – pairs are taken from this corpus. False: merges are only applied to it.
    options: options of `Learner`.
    """

    def __init__(
        self, source: PieceCounter | Sequences, texts: TokenTexts, *, chooses: bool, **options: Any
    ) -> None: ...
    def report_to(self, progress: Callable[[int], object] | None) -> None:
        """Call progress(n_ids) from time to time while merges are applied; None: do not."""
