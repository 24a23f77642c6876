"""Completions of the end of a text, and look-up of tokens by prefix."""

from collections.abc import Iterable
from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher

def last_piece(splitter: Splitter, special: SpecialMatcher | None, text: bytes) -> bytes: ...

@final
class SortedTokens:
    def __init__(self, vocabulary: Vocabulary, *, ids: Iterable[int] | None = None) -> None: ...
    def beginning_with(self, prefix: bytes) -> list[int]: ...
    def additions(self, tail: bytes) -> dict[bytes, None]: ...

@final
class Completions:
    def __init__(self, vocabulary: Vocabulary, splitter: Splitter) -> None: ...
    @property
    def tokens(self) -> SortedTokens: ...
    def of(self, tail: bytes) -> list[list[int]]:
        """Return the completions of a tail, which is valid UTF-8 and not empty, as a list of lists of ids."""
