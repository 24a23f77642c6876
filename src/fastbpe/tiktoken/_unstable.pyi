"""Completions of a text's end."""

from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher

def last_piece(splitter: Splitter, special: SpecialMatcher | None, text: bytes) -> bytes:
    """Return the bytes of a text's last piece; b"" if the text ends with a special token or has no piece."""

@final
class Completions:
    """Finder of completions, for one vocabulary and one splitter."""

    def __init__(self, vocabulary: Vocabulary, splitter: Splitter) -> None: ...
    def of(self, tail: bytes, last: bytes) -> list[list[int]]:
        """Return the completions of a tail: a list of lists of ids.

        Args:
            tail: valid UTF-8, not empty.
            last: the last character of the tail if a pattern may split before it once more text follows; else b"".
        """
