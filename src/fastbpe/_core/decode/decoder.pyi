"""Decode ids to bytes and text."""

from collections.abc import Iterable, Sequence
from typing import final

from typing_extensions import Self

from fastbpe._core.decode.id_reader import IdReader
from fastbpe._core.decode.text_beginning import FirstForms
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Buffer

@final
class Decoder(IdReader):
    def __new__(
        cls,
        vocabulary: Vocabulary,
        special_tokens: list[tuple[int, bytes]],
        *,
        leading: bool | None = None,
        space_keepers: frozenset[int] = ...,
        joins: bool = False,
        takes_bools: bool = False,
    ) -> Self: ...
    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes: ...
    def decode(
        self,
        ids: Sequence[int] | Buffer,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        firsts: FirstForms | None = None,
    ) -> str: ...
    def decode_batch(
        self,
        batch: Iterable[Sequence[int] | Buffer],
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        firsts: FirstForms | None = None,
    ) -> list[str]: ...
    def known(self, ids: Sequence[int] | Buffer) -> list[int]: ...
    def tokens(self, ids: Sequence[int] | Buffer, unknown_ids: UnknownIds = "raise") -> list[bytes]: ...
    def decode_with_offsets(
        self, ids: Sequence[int] | Buffer, errors: DecodeErrors = "replace"
    ) -> tuple[str, list[int]]: ...
    def token(self, token_id: int) -> bytes: ...
    @property
    def n_ids(self) -> int: ...
