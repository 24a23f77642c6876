from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter

@final
class ParityLearner:
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
    def learn(self, progress: Callable[[int], object] | None = None) -> None: ...
    def merges(self) -> list[tuple[int, int, int]]: ...
    def chosen(self) -> list[int]: ...
    def n_symbols(self) -> list[int]: ...
    def limits_met(self) -> tuple[bool, bool]: ...

@final
class Corpus(Learner):
    def __init__(
        self, source: PieceCounter | Sequences, texts: TokenTexts, *, chooses: bool, **options: Any
    ) -> None: ...
    def report_to(self, progress: Callable[[int], object] | None) -> None: ...

@final
class TokenTexts:
    def __init__(self, texts: Iterable[bytes], prefix: bytes = b"") -> None: ...
    @property
    def n(self) -> int: ...
