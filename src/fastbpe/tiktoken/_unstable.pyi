from typing import final

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher

def last_piece(splitter: Splitter, special: SpecialMatcher | None, text: bytes) -> bytes: ...

@final
class Completions:
    def __init__(self, vocabulary: Vocabulary, splitter: Splitter) -> None: ...
    def of(self, tail: bytes, last: bytes) -> list[list[int]]: ...
