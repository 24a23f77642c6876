"""Trim white space off the spans of tokens."""

from collections.abc import Callable, Sequence
from typing import final

from typing_extensions import Self

@final
class SpanTrimmer:
    def __new__(
        cls, prefixed: Sequence[bool], tokens: Callable[[], Sequence[bytes]], blank_characters: str
    ) -> Self: ...
    def __call__(
        self, ids: Sequence[int], spans: Sequence[tuple[int, int]], found: Sequence[tuple[int, str]]
    ) -> list[tuple[int, int]]: ...
