from collections.abc import Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Buffer

class DecodingEncoder(Encoder):
    _decoder: Decoder
    _skipping: Decoder
    _vocabulary: Vocabulary
    def decode(
        self,
        ids: Sequence[int] | Buffer,
        *,
        errors: str = "replace",
        num_threads: int | None = None,
        unknown_ids: str = "raise",
        skip_special_tokens: bool = False,
    ) -> str: ...
    def token_to_id(self, token: bytes | str) -> int | None: ...
    def id_to_token(self, token_id: int) -> bytes: ...

def check_errors(errors: str) -> None: ...
