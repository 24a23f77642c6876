"""Completions of a text's end, and tokens by how they begin."""

from collections.abc import Iterable
from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher

def last_piece(splitter: Splitter, special: SpecialMatcher | None, text: bytes) -> bytes:
    """Return the bytes of a text's last piece; b"" if the text ends with a special token or has no piece."""

@final
class SortedTokens:
    """Tokens of a vocabulary in the order of their bytes.

    vocabulary: the tokens.
    ids: the ids to hold; None: all.
    """

    def __init__(self, vocabulary: Vocabulary, *, ids: Iterable[int] | None = None) -> None: ...
    def beginning_with(self, prefix: bytes) -> list[int]:
        """Return the ids of the tokens whose bytes begin with a prefix, in the order of their bytes."""

    def additions(self, tail: bytes) -> dict[bytes, None]:
        """Return the bytes that tokens would add to a tail if they began within it, but not at its start."""

@final
class Completions:
    """Finder of completions, for one byte-level vocabulary and one splitter."""

    def __init__(self, vocabulary: Vocabulary, splitter: Splitter) -> None: ...
    @property
    def tokens(self) -> SortedTokens:
        """The tokens in the order of their bytes."""

    def of(self, tail: bytes) -> list[list[int]]:
        """Return the completions of a tail, which is valid UTF-8 and not empty: a list of lists of ids."""
