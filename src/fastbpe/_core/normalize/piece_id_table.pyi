from collections.abc import Mapping
from typing import final

from typing_extensions import Self

from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class PieceIdTable:
    unknown: int
    n_ids: int
    first_character: int
    finds_codes: bool
    codes: SpecialMatcher | None
    def __new__(
        cls,
        unknown: int,
        n_ids: int,
        first_character: int,
        runs: Mapping[tuple[int, ...], int],
        *,
        finds_codes: bool,
        codes: SpecialMatcher | None,
    ) -> Self: ...
