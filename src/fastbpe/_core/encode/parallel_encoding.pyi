"""Encode many texts, or a long one, on several threads."""

from typing import final

from typing_extensions import Self

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.text_batches import TextRows

@final
class Jobs:
    def __new__(
        cls,
        pipeline: Pipeline,
        texts: list[str | bytes],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        counting: bool,
        checked: bool = False,
        rows: TextRows | None = None,
        first_row: int = 0,
        last_row: int = 0,
    ) -> Self: ...
