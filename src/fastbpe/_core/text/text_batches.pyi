"""Batches of texts, so that memory stays bounded."""

from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

@final
class TextBatches:
    def __new__(cls, texts: Iterable[Any]) -> Self: ...
