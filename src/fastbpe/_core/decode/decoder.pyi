"""Decodes ids to bytes and text."""

from collections.abc import Iterable, Sequence
from typing import final

from typing_extensions import Self

from fastbpe._core.decode.id_reader import IdReader
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Buffer

@final
class Decoder(IdReader):
    """Decoder of ids to bytes and text, with the bytes of every id.

    Args:
        vocabulary: Vocabulary of the ordinary tokens.
        special_tokens: list of (id, bytes) that come before ordinary tokens; the bytes may be empty.
        leading: spaces to leave out at the beginning of a text of code points. None: leave out nothing. False: one
            space at the beginning of the first token. True: all leading tokens that are only a space, and one
            space of the next token.
        space_keepers: frozenset of int – ids that keep their space at the beginning.
        joins: True: bytes on both sides of a token without bytes may make one character.
        takes_bools: False and True are the ids 0 and 1; otherwise they raise TypeError.
    """

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
    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes:
        """Decode ids, and join the bytes of their tokens."""
    def decode(
        self,
        ids: Sequence[int] | Buffer,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
    ) -> str:
        """Decode ids to text. Takes the arguments of `Tokenizer.decode`."""
    def decode_batch(
        self,
        batch: Iterable[Sequence[int] | Buffer],
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
    ) -> list[str]:
        """Decode each sequence of ids, in order, as `decode` does."""
    def known(self, ids: Sequence[int] | Buffer) -> list[int]:
        """List the ids that have a token."""
    def tokens(self, ids: Sequence[int] | Buffer, unknown_ids: UnknownIds = "raise") -> list[bytes]:
        """List the bytes of each id.

        With unknown_ids="replace", an id without a token gives the UTF-8 of U+FFFD.
        """
    def decode_with_offsets(
        self, ids: Sequence[int] | Buffer, errors: DecodeErrors = "replace"
    ) -> tuple[str, list[int]]:
        """Decode ids, and list for each id the index of the first character that holds some of its bytes.

        errors: "replace" or "strict".
        """
    def token(self, token_id: int) -> bytes:
        """Return the bytes of an id. Raises InvalidTokenError (a KeyError) if the id has no token."""
    @property
    def n_ids(self) -> int:
        """Greatest id + 1."""
