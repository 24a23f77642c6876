"""Encoding of many texts, or of a long one, on several threads."""

from typing import final

from typing_extensions import Self

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class Jobs:
    """Jobs that encode or count some texts, for other compiled modules.

    pipeline: the steps of each text.
    texts: str, or bytes-like UTF-8.
    allowed, disallowed: as in Pipeline.encode().
    counting: count the ids instead of keeping them.
    checked: bytes are known to be UTF-8.
    """

    def __new__(
        cls,
        pipeline: Pipeline,
        texts: list[str | bytes],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        counting: bool,
        checked: bool = False,
    ) -> Self: ...
    @property
    def n_jobs(self) -> int: ...
    @property
    def max_ids(self) -> int: ...
