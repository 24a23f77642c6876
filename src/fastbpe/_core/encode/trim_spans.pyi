"""Trim white space off the spans of tokens."""

from collections.abc import Callable, Sequence
from typing import final

from typing_extensions import Self

@final
class SpanTrimmer:
    """Trimmer of spans, once for each post-processor that trims."""

    def __new__(
        cls, prefixed: Sequence[bool], tokens: Callable[[], Sequence[bytes]], blank_characters: str
    ) -> Self: ...
    def __call__(
        self, ids: Sequence[int], spans: Sequence[tuple[int, int]], found: Sequence[tuple[int, str]]
    ) -> list[tuple[int, int]]:
        """Return the trimmed spans; found: (index, text) of the ids that are special or added tokens."""
