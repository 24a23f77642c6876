"""Reader of texts between separators, which creates no Python objects for them."""

from typing import final

from typing_extensions import Self

@final
class SeparatedTexts:
    """Reader of a block of texts, for other compiled modules."""

    def __new__(cls, block: bytes, separator: bytes) -> Self: ...
