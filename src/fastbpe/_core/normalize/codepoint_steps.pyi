from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.special_tokens import SpecialMatcher

@final
class Normalizing:
    """Steps of code-point mode.

    normalizer: Normalizer or None – normalizes texts and writes no U+2581 if the vocabulary has spaces in its
        place. None: the text itself, with a space before it if dummy_prefix, equals the normalized one.
    dummy_prefix: bool – if there is no normalizer, put a space before each text.
    prefix: "always", "first" or "" – put a space before normalized text that does not begin with one: before each
        text between tokens, only at the beginning of a text, or never.
    symbols: SpecialMatcher or None – user-defined symbols, in their normalized form.
    cuttable: bool – a letter or number before a space always ends a word, and the space begins the next: a safe
        cut is between them.
    fused: int or None – several of this id in a row become one.
    to_spaces: Normalizer – without a normalizer, writes texts with U+2581 as the vocabulary spells them, where
        spans are asked for.
    as_tokenizers: bool – give the spans that tokenizers gives; False: sentencepiece's.
    removes_spaces: bool – the normalizer makes one space of several.
    """

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
