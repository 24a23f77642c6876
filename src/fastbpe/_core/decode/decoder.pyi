"""Decodes ids to bytes and text."""

from collections.abc import Iterable, Sequence
from typing import final

from typing_extensions import Self

from fastbpe._core.decode.id_reader import IdReader
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Buffer

@final
class Decoder(IdReader):
    def __new__(
        cls,
        vocabulary: Vocabulary,
        special_tokens: list[tuple[int, bytes]],
        *,
        leading: bool | None = None,
        whole: frozenset[int] = ...,
        joins: bool = False,
    ) -> Self: ...
    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes: ...
    def decode(
        self,
        ids: Sequence[int] | Buffer,
        errors: str = "replace",
        num_threads: int | None = None,
        unknown_ids: str = "raise",
    ) -> str: ...
    def decode_batch(
        self,
        batch: Iterable[Sequence[int] | Buffer],
        errors: str = "replace",
        num_threads: int | None = None,
        unknown_ids: str = "raise",
    ) -> list[str]: ...
    def known(self, ids: Sequence[int] | Buffer) -> list[int]: ...
    def tokens(self, ids: Sequence[int] | Buffer, unknown_ids: str = "raise") -> list[bytes]: ...
    def decode_with_offsets(
        self, ids: Sequence[int] | Buffer, errors: str = "replace"
    ) -> tuple[str, list[int]]: ...
    def token(self, token_id: int) -> bytes: ...
    @property
    def n_ids(self) -> int: ...
