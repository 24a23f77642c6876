from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, final

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Buffer

class _Decoding(Protocol):
    def decode(
        self,
        ids: Sequence[int] | Buffer,
        errors: DecodeErrors,
        num_threads: int | None,
        unknown_ids: UnknownIds,
    ) -> str: ...

class _Decodes(Protocol):
    @property
    def _decoding(self) -> _Decoding: ...
    @property
    def _skipping(self) -> _Decoding: ...
    @property
    def _names(self) -> Decoder: ...
    @property
    def _find(self) -> Callable[[bytes | str], int | None]: ...

class _HasIds(Protocol):
    @property
    def ids_of_bytes(self) -> Mapping[bytes, int]: ...

def decode(
    self: _Decodes,
    /,
    ids: Sequence[int] | Buffer,
    *,
    errors: DecodeErrors = "replace",
    num_threads: int | None = None,
    unknown_ids: UnknownIds = "raise",
    skip_special_tokens: bool = False,
) -> str: ...
def token_to_id(self: _Decodes, token: bytes | str) -> int | None: ...
def id_to_token(self: _Decodes, token_id: int) -> bytes: ...
def check_errors(errors: DecodeErrors) -> None: ...

@final
class TokenFinder:
    def __init__(self, vocabulary: Vocabulary, special: _HasIds) -> None: ...
    def find(self, token: bytes | str) -> int | None: ...
