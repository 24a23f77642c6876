"""Batches of texts, so that memory stays bounded."""

from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

@final
class TextBatches:
    """Reader of an iterable of texts, one batch at a time."""

    def __new__(cls, texts: Iterable[Any]) -> Self: ...
