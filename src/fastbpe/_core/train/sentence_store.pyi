"""Normalized sentences in their order, for the training of unigram models."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class KnownCharacters:
    def __new__(cls, known: list[int]) -> Self: ...

@final
class SentenceStore:
    def __new__(
        cls,
        *,
        split_by_whitespace: bool = True,
        treat_whitespace_as_suffix: bool = False,
        allow_whitespace_only_pieces: bool = False,
    ) -> Self: ...
    @property
    def n(self) -> int:
        """Number of sentences."""

    @property
    def n_empty(self) -> int:
        """Number of empty sentences among them."""

    def append(self, text: bytes, count: int) -> None: ...
    def extend(self, other: SentenceStore) -> None: ...
    def sentence(self, i: int) -> bytes: ...
    def clear(self) -> None: ...
    def drop_empty(self) -> None:
        """Drop empty sentences; the last sentence takes the place of each."""

    def last_word(self) -> bytes: ...
    def words(self) -> PieceTable: ...
    def characters(self) -> dict[int, int]: ...
    def replace_others(self, known: list[int]) -> None: ...
    def units(self, first: int, max_bytes: int) -> tuple[PieceTable, int]: ...

def sorted_words(words: PieceTable) -> SentenceStore: ...
