"""Encoding in code-point mode with the piece and the offsets of each id."""

from typing import final

from typing_extensions import Self

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer

@final
class NormalizedText: ...

@final
class Tokens:
    def __len__(self) -> int: ...
    def ids(self) -> list[int]: ...
    def to_array(self) -> Array: ...
    def pieces(self, names: list[str]) -> list[str]: ...
    def byte_pieces(self, names: list[bytes]) -> list[bytes]: ...
    def offsets(self, *, in_characters: bool) -> list[tuple[int, int]]: ...

@final
class TokenEncoder:
    def __new__(cls, encoder: Encoder, normalizer: Normalizer) -> Self: ...
    def encode(self, text: bytes, *, offsets: bool = False, dropout: float = 0, seed: int = 0) -> Tokens: ...
    def encode_best(
        self, text: bytes, n_best: int, *, offsets: bool = False, milliseconds: int = 0
    ) -> list[tuple[Tokens, float]]: ...
    def sample(
        self,
        text: bytes,
        seed: int,
        *,
        alpha: float,
        n_best: int = 0,
        offsets: bool = False,
        milliseconds: int = 0,
    ) -> Tokens: ...

def marks_spaces(encoder: Encoder) -> bool: ...
