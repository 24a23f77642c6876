"""Tokens of characters, found by how they begin. For bytes and code points the core has SortedTokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping


class SpelledTokens:
    """Ordinary tokens of a tokenizer of characters, in the order of their bytes.

    Args:
        surfaces: id of each ordinary token → the bytes that it adds to a text.
    """

    def __init__(self, surfaces: Mapping[int, bytes]) -> None:
        self._ids = sorted(surfaces, key=lambda token_id: (surfaces[token_id], token_id))
        self._surfaces = [surfaces[token_id] for token_id in self._ids]

    def beginning_with(self, prefix: bytes) -> list[int]:
        """Give the ids of the tokens that begin with a prefix, as they decode."""
        first = bisect_left(self._surfaces, prefix)
        n = bisect_left(self._surfaces, True, first, key=lambda surface: not surface.startswith(prefix))
        return self._ids[first:n]
