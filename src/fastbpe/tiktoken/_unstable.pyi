from typing import final

from fastbpe._core.special import SpecialMatcher
from fastbpe._core.splitter import Splitter
from fastbpe._core.vocabulary import Vocabulary

def last_piece(splitter: Splitter, special: SpecialMatcher | None, text: bytes) -> bytes: ...

@final
class Completions:
    def __init__(self, vocabulary: Vocabulary, splitter: Splitter) -> None: ...
    def of(self, tail: bytes, last: bytes) -> list[list[int]]: ...
