from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class Normalizing:
    def __new__(
        cls,
        normalizer: Normalizer | None,
        *,
        dummy_prefix: bool,
        prefix: str = "",
        symbols: SpecialMatcher | None,
        cuttable: bool,
        fused: int | None,
        to_spaces: Normalizer,
        as_tokenizers: bool,
        removes_spaces: bool,
    ) -> Self: ...
    @property
    def normalizer(self) -> Normalizer | None: ...
    @property
    def dummy_prefix(self) -> bool: ...
    @property
    def prefix_always(self) -> bool: ...
    @property
    def prefix_first(self) -> bool: ...
    @property
    def symbols(self) -> SpecialMatcher | None: ...
    @property
    def cuttable(self) -> bool: ...
    @property
    def to_spaces(self) -> Normalizer: ...
    @property
    def as_tokenizers(self) -> bool: ...
    @property
    def removes_spaces(self) -> bool: ...
