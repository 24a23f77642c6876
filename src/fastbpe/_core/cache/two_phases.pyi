from collections.abc import Sequence
from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary

@final
class TwoPhases:
    """The two phases of a vocabulary.

    words: Vocabulary – the tokens of the first phase, with the ids that they have in the whole vocabulary.
    joins: uint64 array – left id << 32 | right id of neighbours that a superword has inside.
    superwords: Vocabulary – the merges of the second phase. None: there are none yet.
    joins_pieces: bool – these join whole pieces; else ids within a piece.
    members: sequence of int – ids. A superword may hold any two of them side by side; joins is without effect.
    """

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
    def words(self) -> Vocabulary: ...
    @property
    def superwords(self) -> Vocabulary | None: ...
    @property
    def joins_pieces(self) -> bool: ...
    @property
    def borders(self) -> bytes:
        """By border_of(), a byte: 0 where no superword has a border of pieces."""

def superword_ids(vocabulary: Vocabulary) -> list[int]:
    """List the ids of the tokens that have a letter of English right before a space: they span words."""
