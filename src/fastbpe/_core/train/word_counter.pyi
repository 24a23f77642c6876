from collections.abc import Callable
from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.sentence_store import SentenceStore

@final
class WordCounter:
    def __new__(
        cls,
        normalizer: Normalizer,
        classes: bytes,
        *,
        symbols: SpecialMatcher | None,
        delimiter: bytes,
        max_bytes: int,
        split_by_whitespace: bool,
        treat_whitespace_as_suffix: bool,
        allow_whitespace_only_pieces: bool,
        has_counts: bool,
        is_checked: bool,
        spill: Callable[[PieceTable], object] | None,
        limit: int,
        marks_ends: bool,
        keeps: str,
        counts_words: bool,
    ) -> Self: ...
    @property
    def words(self) -> PieceCounter: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_sentences(self) -> int: ...
    @property
    def n_empty(self) -> int: ...
    @property
    def n_too_long(self) -> int: ...
    @property
    def n_reserved(self) -> int: ...
    @property
    def n_bytes_left_out(self) -> int: ...
    @property
    def n_ends_left_out(self) -> int: ...
    def abandon(self) -> None: ...
    def take_store(self) -> tuple[SentenceStore, int]: ...
    def add_lines(self, texts: list[str | bytes], *, first: int = 0) -> None: ...
    def add_sentences(self, texts: list[str | bytes], *, first: int = 0) -> None: ...
    def add_part(self, text: str | bytes, start: int, end: int, *, first: int = 0) -> None: ...
    def prepare(self, sentence: bytes) -> tuple[bytes, int] | None: ...
    def add_prepared(self, text: bytes, count: int) -> None: ...
