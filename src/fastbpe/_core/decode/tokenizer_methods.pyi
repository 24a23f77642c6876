from collections.abc import Sequence
from typing import Protocol

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Buffer

class _Decodes(Protocol):
    @property
    def _decoder(self) -> Decoder: ...
    @property
    def _skipping(self) -> Decoder: ...
    @property
    def _vocabulary(self) -> Vocabulary: ...

def decode(
    self: _Decodes,
    /,
    ids: Sequence[int] | Buffer,
    *,
    errors: DecodeErrors = "replace",
    num_threads: int | None = None,
    unknown_ids: UnknownIds = "raise",
    skip_special_tokens: bool = False,
) -> str:
    """Decode ids to text. See `Tokenizer.decode`."""

def token_to_id(self: _Decodes, token: bytes | str) -> int | None:
    """Find the id of a token. See `Tokenizer.token_to_id`."""

def id_to_token(self: _Decodes, token_id: int) -> bytes:
    """Give the bytes of an id. See `Tokenizer.id_to_token`."""

def check_errors(errors: DecodeErrors) -> None:
    """Raise LookupError if no error handler has this name."""
