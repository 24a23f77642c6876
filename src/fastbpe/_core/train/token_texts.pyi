from collections.abc import Iterable
from typing import final

@final
class TokenTexts:
    def __init__(self, texts: Iterable[bytes], prefix: bytes = b"") -> None: ...
    @property
    def n(self) -> int:
        """Number of texts."""
