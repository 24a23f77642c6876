"""Settings of code-point mode: the steps before a text is split, and one step after its ids are made."""

cimport cython

from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizer
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.common.hash_tables cimport NONE


@cython.final
cdef class Normalizing:
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
    def __cinit__(
        self, Normalizer normalizer, *, bint dummy_prefix, str prefix not None="", SpecialMatcher symbols,
        bint cuttable, fused, Normalizer to_spaces not None, bint as_tokenizers, bint removes_spaces,
    ):
        self.normalizer = normalizer
        self.to_spaces = to_spaces
        self.as_tokenizers = as_tokenizers
        self.removes_spaces = removes_spaces
        self.prefix_always = prefix == "always"
        self.prefix_first = prefix == "first"
        self.dummy_prefix = dummy_prefix
        self.symbols = symbols
        self.cuttable = cuttable
        self.fused = NONE if fused is None else fused
        self.only_prefixes = normalizer is None and not prefix and symbols is None and fused is None
