"""Decode ids as they arrive, and return only complete characters."""

from collections.abc import Sequence
from typing import Any, SupportsIndex, final

from typing_extensions import Self

from fastbpe._core.decode.id_reader import IdReader
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Buffer

@final
class StreamDecoder:
    """Stream that decodes ids as they arrive. Created by `Tokenizer.decoder`.

    The results of `push` and `finish`, concatenated, equal the result of `decode` for all ids, however the ids are
    grouped, with one exception. A stream cannot take back text: if the first byte ids of a run made characters,
    but the whole run is not UTF-8, the stream replaces only the later ids of the run by U+FFFD; `decode` replaces
    all. Up to three bytes that may become a character wait for the next ids.

    `copy.copy` returns an independent stream that continues from the same position. A stream cannot be pickled.

    Args:
        reader: Decoder of the ids.
        errors: error handler for bytes that are not UTF-8.
        unknown_ids: treatment of ids without a token: "raise", "skip" or "replace".
        joins, leading, space_keepers: as in Decoder.
        byte_ids: frozenset of int – ids of byte tokens, decoded as in tokenizers: consecutive ones together; if
            their bytes are not UTF-8, each becomes U+FFFD. None: `errors` decides.
        first_texts: dict of int to bytes – ids that have other bytes at the beginning of a text, and these bytes;
            needs `leading`.
        steps: object with `push`, `finish` and `__copy__` that does all the work, for tokenizers' decoders that
            change more than single tokens; None: the stream decodes by itself.

    >>> from fastbpe import Tokenizer
    >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
    >>> [stream.push(token_id) for token_id in "né".encode()], stream.push([33, 63]), stream.finish()
    (['n', '', 'é'], '!?', '')
    """

    def __new__(
        cls,
        reader: IdReader,
        errors: DecodeErrors,
        unknown_ids: UnknownIds = "raise",
        *,
        joins: bool = True,
        leading: bool | None = None,
        space_keepers: frozenset[int] = ...,
        byte_ids: frozenset[int] | None = None,
        first_texts: dict[int, bytes] | None = None,
        steps: Any = None,
    ) -> Self: ...
    def push(self, ids: SupportsIndex | Sequence[int] | Buffer) -> str:
        """Return the text that an id, or a sequence of ids, completes; "" if it completes none.

        An error leaves the stream unchanged.

        Raises:
            InvalidTokenError: an id has no token (a KeyError), unless unknown_ids is "skip" or "replace".

        >>> from fastbpe import Tokenizer
        >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
        >>> stream.push(97), stream.push([98, 0xC3]), stream.push(0xA9)
        ('a', 'b', 'é')
        """
    def finish(self) -> str:
        """Return the text of the bytes that are still waiting. The next `push` begins a new text.

        An error leaves the stream unchanged: the bytes still wait.

        >>> from fastbpe import Tokenizer
        >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
        >>> stream.push(0xC3), stream.finish()
        ('', '�')
        """
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
