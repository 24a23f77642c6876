from typing import final

from typing_extensions import Self

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class Widths:
    def __new__(cls, vocabulary: Vocabulary, symbols: SpecialMatcher | None) -> Self: ...
