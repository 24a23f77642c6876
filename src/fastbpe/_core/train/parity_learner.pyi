from collections.abc import Callable, Sequence
from typing import final

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.train.piece_counter import PieceCounter

@final
class ParityLearner:
    """Learner of merges over several languages; each merge is for the language that needs it most.

    languages: list of PieceCounter, or of Sequences, which are emptied – the words of each language.
    texts: list of bytes – the text of each id that exists; of equally frequent pairs the one with the greatest
        texts is merged.
    n_merges: int – number of merges to learn.
    dev: list of PieceCounter or Sequences, or None – texts whose symbols tell what a language needs; None: the
        languages themselves.
    ratio: list of float, or None – symbols before the first merge by symbols now are compared by their ratio to
        this number, for the words of the languages; None: symbols are compared.
    window: int or None – of the last `window` choices, a language has no more than alpha / len(languages).
    whole: PieceCounter or Sequences, or None – the words of all languages, for global_merges.
    global_merges: int – number of merges before the first choice of a language, by the counts in all of them.
    min_count: int – merge only pairs that occur at least so often.
    max_token_length: int or None – make no token of more base symbols.
    prefix: bytes – what the right one of two tokens loses when they are joined.
    """

    def __init__(
        self,
        languages: Sequence[PieceCounter | Sequences],
        texts: Sequence[bytes],
        *,
        n_merges: int,
        dev: Sequence[PieceCounter | Sequences] | None = None,
        ratio: Sequence[float] | None = None,
        window: int | None = None,
        alpha: float = 2.0,
        whole: PieceCounter | Sequences | None = None,
        global_merges: int = 0,
        min_count: int = 1,
        max_token_length: int | None = None,
        prefix: bytes = b"",
    ) -> None: ...
    def learn(self, progress: Callable[[int], object] | None = None) -> None:
        """Learn all merges.

        progress: callable or None – called as progress(n_merges) from time to time, and at the end.
        """

    def merges(self) -> list[tuple[int, int, int]]:
        """Return (left id, right id, count) of each merge, in order; merge i makes id len(texts) + i.

        The count is that of the language for which the merge was made, or of all languages for a global merge.
        """

    def chosen(self) -> list[int]:
        """Return the number of the language for which each merge was made; -1: a global merge."""

    def n_symbols(self) -> list[int]:
        """Return the number of symbols of each language now: of its dev text, or else of its words."""

    def limits_met(self) -> tuple[bool, bool]:
        """Return two bools, as `Learner.limits_met` does, for all languages."""
