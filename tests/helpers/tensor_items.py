"""Ids as the items of a tensor: objects with `__index__` that no dict finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class TensorItem:
    """Integer whose hash is not the integer's."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


def tensor_items(ids: Iterable[int]) -> list[Any]:
    return [*map(TensorItem, ids)]
