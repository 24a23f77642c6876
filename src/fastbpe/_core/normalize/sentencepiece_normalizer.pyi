from typing import final

from typing_extensions import Self

@final
class Normalizer:
    """The normalizer of sentencepiece.

    charsmap: bytes – precompiled charsmap; b"": no rules. An inconsistent charsmap raises FormatError.
    add_dummy_prefix: bool – put a space before each text; with treat_whitespace_as_suffix after it.
    remove_extra_whitespaces: bool – remove spaces at both ends, and keep one of several in a row.
    escape_whitespaces: bool – write U+2581 for each space.
    treat_whitespace_as_suffix: bool – see add_dummy_prefix.
    symbols: list of bytes – user-defined symbols, which are not normalized; distinct, not empty.
    marks_to_spaces: bool – the same output as with escape_whitespaces, but with a space for each U+2581.
    """

    def __new__(
        cls,
        charsmap: bytes,
        *,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        treat_whitespace_as_suffix: bool = False,
        symbols: list[bytes] = [],
        marks_to_spaces: bool = False,
    ) -> Self: ...
    @property
    def gives_utf8(self) -> bool:
        """True: each replacement and each symbol is UTF-8, and so is all normalized text."""

    def words_stay(self) -> bool:
        """Tell whether a text may be cut safely between a letter or number and the space after it."""

    def normalize(self, text: bytes) -> bytes:
        """Return the normalized text, as UTF-8.

        >>> normalizer = Normalizer(
        ...     b"", add_dummy_prefix=True, remove_extra_whitespaces=True, escape_whitespaces=True
        ... )
        >>> normalizer.normalize(b" a  b ").decode()
        '▁a▁b'
        """

    def normalize_with_offsets(self, text: bytes) -> tuple[bytes, list[int]]:
        """Return the normalized text, and for each of its bytes and its end the offset of its source in `text`."""
