from collections.abc import Iterable
from typing import final

@final
class TokenTexts:
    """Texts of ids, which put ids into the order of their texts.

    texts: iterable of bytes – the text of each id.
    prefix: bytes – what the right one of two texts loses when they are joined.
    """

    def __init__(self, texts: Iterable[bytes], prefix: bytes = b"") -> None: ...
    @property
    def n(self) -> int:
        """Number of texts."""
