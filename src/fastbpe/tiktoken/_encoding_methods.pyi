"""Methods of an Encoding that are called often."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import ClassVar, Literal, Protocol

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
    @property
    def set(self) -> frozenset[str]: ...
    def choose(
        self, allowed: str | Collection[str], disallowed: str | Collection[str]
    ) -> tuple[SpecialMatcher | None, SpecialMatcher | None]: ...

def tokens_by_rank(ranks: Mapping[bytes, int]) -> list[bytes]: ...
def ranks_of_tables(token_bytes: bytes, token_ends: bytes) -> dict[bytes, int]: ...

@disjoint_base
class Methods(Encoder):
    _own: ClassVar[type[Methods] | None]
    def __init__(
        self, vocabulary: Vocabulary, splitter: Splitter, decoder: Decoder, special: _ChoosesSpecial
    ) -> None: ...
    def _is_replaced(self, name: str) -> bool: ...
    def encode_ordinary(self, text: str | bytes) -> list[int]:  # type: ignore[override]
        """Encode a text in which special tokens are plain text.

        >>> from fastbpe.tiktoken import Encoding
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> encoding = Encoding("t", pat_str=".+", mergeable_ranks=ranks, special_tokens={"<e>": 257})
        >>> encoding.encode_ordinary("ab<e>")
        [256, 60, 101, 62]
        """
    def encode(  # type: ignore[override]
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Set[str] = ...,
        disallowed_special: Literal["all"] | Iterable[str] | None = "all",
    ) -> list[int]:
        """Encode a text; only allowed special tokens become their ids.

        Args:
            text: str, or bytes of UTF-8.
            allowed_special: special tokens that become their ids: a set, or "all".
            disallowed_special: special tokens that raise an error: any collection; "all": all that are not
                allowed; (): all are plain text.

        Raises:
            ValueError: the text contains a disallowed special token; the message lists three solutions.

        >>> from fastbpe.tiktoken import Encoding
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> encoding = Encoding("t", pat_str=".+", mergeable_ranks=ranks, special_tokens={"<e>": 257})
        >>> encoding.encode("ab<e>", allowed_special={"<e>"})
        [256, 257]
        """
    def encode_to_numpy(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Set[str] = ...,
        disallowed_special: Literal["all"] | Iterable[str] | None = "all",
    ) -> npt.NDArray[np.uint32]:
        """Encode a text as `encode` does, into a new numpy array of shape (n,), dtype uint32.

        Raises:
            ImportError: numpy is not installed.
        """
    def _encode_to_buffer(
        self,
        text: str | bytes,
        allowed_special: Literal["all"] | Set[str],
        disallowed_special: Literal["all"] | Iterable[str] | None,
    ) -> Array: ...
    def encode_ordinary_batch(
        self, text: Iterable[str | bytes], *, num_threads: int | None = 8
    ) -> list[list[int]]:
        """Encode each text as `encode_ordinary` does. Returns a list of lists, in order.

        Args:
            text: texts.
            num_threads: maximum number of threads. None: as in `Tokenizer.encode`.
        """
    def encode_batch(  # type: ignore[override]
        self,
        text: Iterable[str | bytes],
        *,
        num_threads: int | None = 8,
        allowed_special: Literal["all"] | Set[str] = ...,
        disallowed_special: Literal["all"] | Iterable[str] | None = "all",
    ) -> list[list[int]]:
        """Encode each text as `encode` does. Returns a list of lists, in order.

        Args:
            text: texts.
            num_threads: maximum number of threads. None: as in `Tokenizer.encode`.
            allowed_special, disallowed_special: as for `encode`.
        """
    def _encode_single_piece(self, text_or_bytes: str | Buffer) -> list[int]: ...
    def decode_bytes(self, tokens: Sequence[int] | Buffer) -> bytes:
        """Decode ids to bytes.

        Raises:
            KeyError: an id is not a token.
            OverflowError: an id is negative or exceeds 32 bits.
        """
    def decode(self, tokens: Sequence[int] | Buffer, errors: str = "replace") -> str:
        """Decode ids to text, including special tokens.

        Args:
            tokens: ids.
            errors: treatment of bytes that are not UTF-8, as in `bytes.decode`: "replace", "strict", "ignore", …

        Raises:
            KeyError, OverflowError: as in `decode_bytes`.
            UnicodeDecodeError: with errors="strict", the bytes are not UTF-8.
        """
    def decode_batch(
        self, batch: Iterable[Sequence[int] | Buffer], *, errors: str = "replace", num_threads: int | None = 8
    ) -> list[str]:
        """Decode each list of ids as `decode` does.

        Args:
            batch: lists of ids.
            errors: as for `decode`.
            num_threads: maximum number of threads. None: as in `Tokenizer.encode`.
        """
    def decode_bytes_batch(
        self, batch: Iterable[Sequence[int] | Buffer], *, num_threads: int | None = 8
    ) -> list[bytes]:
        """Decode each list of ids as `decode_bytes` does.

        The calling thread does all the work: waking others would take longer. num_threads is checked, but has no
        effect.
        """
    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id. Raises the errors of `decode_bytes`."""
    def decode_tokens_bytes(self, tokens: Sequence[int] | Buffer) -> list[bytes]:
        """Return the bytes of each id. Raises the errors of `decode_bytes`."""
    def decode_with_offsets(self, tokens: Sequence[int] | Buffer) -> tuple[str, list[int]]:
        """Decode ids, and return the position in the text at which each of them begins.

        Returns:
            (text, offsets): for each id the index of the first character that contains one of its bytes.

        Raises:
            KeyError, OverflowError: as in `decode_bytes`.
            UnicodeDecodeError: the joined bytes of the ids are not UTF-8.

        >>> from fastbpe.tiktoken import Encoding
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> Encoding("t", pat_str=".+", mergeable_ranks=ranks, special_tokens={}).decode_with_offsets([256, 99])
        ('abc', [0, 2])
        """
