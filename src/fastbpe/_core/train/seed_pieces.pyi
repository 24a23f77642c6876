"""Initial pieces of the training of a unigram model."""

from typing import final

from typing_extensions import Self

from fastbpe._core.train.piece_table import PieceTable

@final
class SeedFinder:
    def __new__(
        cls,
        classes: bytes,
        *,
        max_length: int,
        n_kept: int,
        split_by_whitespace: bool = True,
        treat_whitespace_as_suffix: bool = False,
        allow_whitespace_only_pieces: bool = False,
        by_characters: bool = False,
    ) -> Self: ...
    def abandon(self) -> None: ...
    def begin(self, units: PieceTable, n_parts: int) -> list[tuple[int, int]]: ...
    def search(self, first: int, end: int) -> PieceTable: ...
    def end(self, found: list[PieceTable]) -> None: ...
    def strings(self) -> list[tuple[bytes, int]]: ...
    def best(self) -> tuple[list[bytes], list[float]]: ...
    def is_valid(self, piece: str) -> bool: ...
