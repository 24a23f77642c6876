"""Symbols of a code-point vocabulary (sentencepiece BPE), and facts about its pieces for finding safe cuts."""

from typing import final

from typing_extensions import Self

@final
class CodePoints:
    def __new__(
        cls,
        piece_bytes: bytes,
        piece_ends: bytes,
        scores: bytes,
        types: bytes,
        *,
        escapes: bool,
        unknown_id: int,
        byte_ids: list[int] | None,
        splits: bool = False,
    ) -> Self: ...
    @property
    def marks_spaces(self) -> bool: ...
    @property
    def n_pieces(self) -> int: ...
    @property
    def token_bytes(self) -> bytes: ...
    @property
    def token_ends(self) -> bytes: ...
    @property
    def expanded(self) -> list[int]: ...
    def expand(self, expansions: list[list[int]]) -> None: ...
    def ids(self) -> list[int]: ...

def surfaces(piece_bytes: bytes, piece_ends: bytes, types: bytes, unknown: bytes) -> tuple[bytes, bytes]: ...
