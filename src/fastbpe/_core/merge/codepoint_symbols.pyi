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
    def marks_spaces(self) -> bool:
        """True if U+2581 becomes a space before merging."""

    @property
    def by_words(self) -> bool:
        """True if no piece has a space after another character, so that words are merged separately."""

    @property
    def n_pieces(self) -> int:
        """Number of symbols that are pieces; the others are characters."""

    @property
    def token_bytes(self) -> bytes:
        """Bytes of the symbols, in the form that a Vocabulary accepts."""

    @property
    def token_ends(self) -> bytes:
        """Ends of the symbols in token_bytes, uint32."""

    @property
    def expanded(self) -> list[int]:
        """Symbols that stand for several ids; `expand` sets these."""

    def expand(self, expansions: list[list[int]]) -> None: ...
    def ids(self) -> list[int]: ...

def surfaces(piece_bytes: bytes, piece_ends: bytes, types: bytes, unknown: bytes) -> tuple[bytes, bytes]: ...
