"""Search for special and added tokens in text."""

from typing import final

from typing_extensions import Self

@final
class SpecialMatcher:
    """Matcher of special or added tokens: the leftmost first, the longest of those that begin there.

    tokens: UTF-8 of each; all different, none empty.
    ids: the id of each.
    flags: a byte for each token, the sum of 1 (takes the white space before it), 2 (takes the white space after
        it), 4 (found only where no word character touches it), 8 (passed over: no token inside it is found, nor
        itself);
        empty: no token has flags.
    then: matcher of the tokens to find in the rest of the text after it is normalized; None: find no tokens.
    words: pairs of uint32 in native byte order, first and last code point of each range of word characters,
        ascending; needed for flag 4.
    """

    every: str

    def __new__(
        cls,
        tokens: list[bytes],
        ids: list[int],
        flags: bytes = b"",
        then: SpecialMatcher | None = None,
        words: bytes = b"",
    ) -> Self: ...
    @property
    def tokens(self) -> list[bytes]: ...
    @property
    def then(self) -> SpecialMatcher | None: ...
    @property
    def cuttable(self) -> bool: ...
    @property
    def ends_in_word(self) -> bool: ...
    def find_all(self, text: str | bytes) -> list[tuple[int, int, int]]:
        """Return (start, end, id) of every token found, in order; offsets in bytes of the text's UTF-8."""

    def search(self, text: str | bytes) -> tuple[int, int, int] | None:
        """Return (start, end, id) of the first token, with any flags; None if there is no token."""

def use_path(path: str) -> None:
    """Use the kernels of an instruction set from now on, as FASTBPE_SIMD does at import. For tests."""
