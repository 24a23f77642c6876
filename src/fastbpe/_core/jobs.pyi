from typing import final

from fastbpe._core.pipeline import Pipeline
from fastbpe._core.special import SpecialMatcher

@final
class Jobs:
    def __init__(
        self,
        pipeline: Pipeline,
        texts: list[str | bytes],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        counting: bool,
    ) -> None: ...
    @property
    def n_jobs(self) -> int: ...
