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
    """Counter of the words of sentences. One thread at a time may use it.

    normalizer: Normalizer – normalizes each sentence.
    classes: bytes, one per code point – classes of characters, as in scripts.pxd.
    symbols: SpecialMatcher or None – user-defined symbols of normalized text; no piece crosses one.
    delimiter: bytes – no piece crosses this text either; b"": none.
    max_bytes: int – leave out sentences of more bytes.
    split_by_whitespace: bool – end a word at each space.
    treat_whitespace_as_suffix: bool – a space belongs to the word before it, not to the one behind.
    allow_whitespace_only_pieces: bool – keep several spaces together.
    has_counts: bool – each line is "sentence TAB count".
    is_checked: bool – raise ValueError for bytes that are not UTF-8.
    spill, limit: as for PieceTable.
    marks_ends: bool – count the last word of a sentence with a byte 0xFF behind it.
    keeps: str – what `take_store` returns: "sentences", normalized; "last words", of each sentence; "": nothing.
    counts_words: bool – False: keep sentences only.
    """

    def __new__(
        cls,
        normalizer: Normalizer,
        classes: bytes,
        *,
        symbols: SpecialMatcher | None = None,
        delimiter: bytes = b"",
        max_bytes: int = 4192,
        split_by_whitespace: bool = True,
        treat_whitespace_as_suffix: bool = False,
        allow_whitespace_only_pieces: bool = False,
        has_counts: bool = False,
        is_checked: bool = False,
        spill: Callable[[PieceTable], object] | None = None,
        limit: int = 0,
        marks_ends: bool = False,
        keeps: str = "",
        counts_words: bool = True,
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
    def abandon(self) -> None:
        """Make a thread that is counting stop soon, with an error: nobody wants the counts."""

    def take_store(self) -> tuple[SentenceStore, int]:
        """Return what was kept since the last call, and the bytes of the normalized sentences."""

    def add_lines(self, texts: list[str | bytes], *, first: int = 0) -> None:
        """Count the words of documents whose lines are sentences.

        first: int – number of the first document in its source, for errors.
        """

    def add_sentences(self, texts: list[str | bytes], *, first: int = 0) -> None:
        """Count the words of sentences.

        first: int – number of the first sentence in its source, for errors.
        """

    def add_part(self, text: str | bytes, start: int, end: int, *, first: int = 0) -> None:
        """Count the words of the lines in one part of a document.

        start, end: int – the part, in units of the text (bytes, or characters of a str).
        first: int – number of the document in its source, for errors.
        """

    def prepare(self, sentence: bytes) -> tuple[bytes, int] | None:
        """Return (a sentence normalized and with boundaries, how often it occurs); None if it is left out."""

    def add_prepared(self, text: bytes, count: int) -> None:
        """Count the words of a sentence that `prepare` returned, `count` times each."""

def characters(words: PieceTable) -> dict[int, int]:
    """Return how often each character occurs in counted words, by code point; NUL and marks are left out.

    Raises OverflowError beyond 2**63 - 1 characters.
    """
