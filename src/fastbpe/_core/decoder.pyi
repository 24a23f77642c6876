from collections.abc import Sequence
from typing import final

from typing_extensions import Self

from fastbpe._core.vocabulary import Vocabulary
from fastbpe.model import Buffer

@final
class Decoder:
    def __new__(cls, vocabulary: Vocabulary, special_tokens: list[tuple[int, bytes]]) -> Self: ...
    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes: ...
    def decode(self, ids: Sequence[int] | Buffer, errors: str = "replace") -> str: ...
    @property
    def n_ids(self) -> int: ...
