from array import array
from typing import final

from typing_extensions import Self

from fastbpe.model import Buffer

@final
class Segmenter:
    def __new__(
        cls,
        kind: str,
        token_bytes: Buffer,
        token_ends: Buffer,
        *,
        ids: array[int] | None = None,
        scores: array[float] | None = None,
        gains: array[float] | None = None,
        are_symbols: Buffer | None = None,
        unknown_score: float = 0.0,
        prefix: bytes = b"",
        longest: int = 0,
    ) -> Self: ...
    @property
    def trie(self) -> Trie: ...
    @property
    def kind(self) -> str: ...

@final
class Trie:
    def __new__(cls, token_bytes: Buffer, token_ends: Buffer, ids: Buffer, scores: Buffer) -> Self: ...
    @property
    def n_units(self) -> int: ...
    def prefixes(self, text: bytes) -> list[tuple[int, int]]: ...
