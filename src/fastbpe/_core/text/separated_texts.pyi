"""Reader of texts between separators, which creates no Python objects for them."""

from typing import final

from typing_extensions import Self

@final
class SeparatedTexts:
    def __new__(cls, block: bytes, separator: bytes) -> Self: ...
