"""Views of a batch of texts. Only for compiled modules."""

from typing import final

from typing_extensions import Self

@final
class TextViews:
    def __new__(cls, texts: list[str | bytes], *, first: int | None = None) -> Self: ...
