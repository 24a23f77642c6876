from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.piece_id_table import PieceIdTable
from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class Normalizer:
    def __new__(
        cls,
        charsmap: bytes,
        *,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        treat_whitespace_as_suffix: bool = False,
        symbols: list[bytes] = [],
        marks_to_spaces: bool = False,
    ) -> Self: ...
    @property
    def gives_utf8(self) -> bool: ...
    def words_stay(self) -> bool: ...
    def normalize(self, text: bytes) -> bytes: ...
    def normalize_with_offsets(self, text: bytes) -> tuple[bytes, list[int]]: ...

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
        table: PieceIdTable | None = None,
    ) -> Self: ...
    dropped: int
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
