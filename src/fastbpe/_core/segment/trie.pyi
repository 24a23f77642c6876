"""Trie: tokens by their bytes, in a double array."""

from typing import final

from typing_extensions import Self

from fastbpe.model import Buffer

@final
class Trie:
    def __new__(cls, token_bytes: Buffer, token_ends: Buffer, ids: Buffer, scores: Buffer) -> Self: ...
    @property
    def n_units(self) -> int:
        """Number of units of the array."""

    def prefixes(self, text: bytes) -> list[tuple[int, int]]: ...
