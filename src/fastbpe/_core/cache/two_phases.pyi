from collections.abc import Sequence
from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary

@final
class TwoPhases:
    def __new__(
        cls,
        words: Vocabulary,
        joins: Sequence[int],
        *,
        superwords: Vocabulary | None = None,
        joins_pieces: bool = False,
        members: Sequence[int] = (),
    ) -> TwoPhases: ...
    @property
    def superwords(self) -> Vocabulary | None: ...
    @property
    def joins_pieces(self) -> bool: ...
    @property
    def borders(self) -> bytes: ...

def superword_ids(vocabulary: Vocabulary) -> list[int]: ...
