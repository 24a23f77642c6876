"""Methods of minbpe's tokenizers that are called often."""

from collections.abc import Callable, Collection, Sequence

from typing_extensions import disjoint_base

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import InvalidTokenError

class InvalidIdError(InvalidTokenError, ValueError):
    """Error for an id that is not a token.

    It is a ValueError, as minbpe's RegexTokenizer raises, and a KeyError, as minbpe's BasicTokenizer raises.
    """

@disjoint_base
class Methods:
    """Encoder and decoder made by `_make`, kept until `_forget` is called."""

    @property
    def _vocabulary(self) -> Vocabulary: ...
    def _make(
        self,
    ) -> tuple[
        Vocabulary, Encoder, Decoder, str | Collection[str], Callable[[Collection[str]], Collection[str]]
    ]: ...
    def _forget(self) -> None: ...
    def _encode_ordinary(self, text: str) -> list[int]: ...
    def _encode(self, text: str, allowed_special: str | Collection[str] = "none_raise") -> list[int]: ...
    def _decode(self, ids: Sequence[int]) -> str: ...
