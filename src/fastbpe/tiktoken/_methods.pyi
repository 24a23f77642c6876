from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe.model import Buffer

class _ChoosesSpecial(Protocol):
    def choose(
        self, allowed: str | Collection[str], disallowed: str | Collection[str]
    ) -> tuple[SpecialMatcher | None, SpecialMatcher | None]: ...

def tokens_by_rank(ranks: Mapping[bytes, int]) -> list[bytes]: ...
def ranks_of_tables(token_bytes: bytes, token_ends: bytes) -> dict[bytes, int]: ...

@disjoint_base
class Methods(Encoder):
    def __init__(
        self, vocabulary: Vocabulary, splitter: Splitter, decoder: Decoder, special: _ChoosesSpecial
    ) -> None: ...
    def encode_ordinary(self, text: str | bytes) -> list[int]: ...  # type: ignore[override]
    def encode(  # type: ignore[override]
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = ...,
        disallowed_special: Literal["all"] | Iterable[str] | None = "all",
    ) -> list[int]: ...
    def encode_to_numpy(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = ...,
        disallowed_special: Literal["all"] | Iterable[str] | None = "all",
    ) -> npt.NDArray[np.uint32]: ...
    def _encode_to_buffer(
        self,
        text: str | bytes,
        allowed_special: Literal["all"] | Collection[str],
        disallowed_special: Literal["all"] | Iterable[str] | None,
    ) -> Array: ...
    def encode_ordinary_batch(
        self, text: Iterable[str | bytes], *, num_threads: int | None = 8
    ) -> list[list[int]]: ...
    def encode_batch(
        self,
        text: Iterable[str | bytes],
        *,
        num_threads: int | None = 8,
        allowed_special: Literal["all"] | Collection[str] = ...,
        disallowed_special: Literal["all"] | Iterable[str] | None = "all",
    ) -> list[list[int]]: ...
    def _encode_single_piece(self, text_or_bytes: str | Buffer) -> list[int]: ...
    def decode_bytes(self, tokens: Sequence[int] | Buffer) -> bytes: ...
    def decode(self, tokens: Sequence[int] | Buffer, errors: str = "replace") -> str: ...
    def decode_batch(
        self, batch: Iterable[Sequence[int] | Buffer], *, errors: str = "replace", num_threads: int | None = 8
    ) -> list[str]: ...
    def decode_bytes_batch(
        self, batch: Iterable[Sequence[int] | Buffer], *, num_threads: int | None = 8
    ) -> list[bytes]: ...
    def decode_single_token_bytes(self, token: int) -> bytes: ...
    def decode_tokens_bytes(self, tokens: Sequence[int] | Buffer) -> list[bytes]: ...
    def decode_with_offsets(self, tokens: Sequence[int] | Buffer) -> tuple[str, list[int]]: ...
