"""What code-point mode does about a text before it is split, and afterwards about its ids."""

cimport cython

from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizer
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.common.hash_tables cimport NONE


@cython.final
cdef class Normalizing:
    """normalizer: it leaves no U+2581 where the vocabulary has spaces in its place; None where a text, and with
    dummy_prefix a space before it, is what a normalizer would make of it.

    prefix: "always" or "first", where a space is put before normalized text that begins with none: before all that is
    between tokens, or where the text begins; "": nowhere.
    symbols: user-defined symbols, as they are in normalized text. cuttable: a letter before a space stays the end of a word, and the space
    begins the next one.
    fused: an id of which several in a row become one, or None.
    """

    def __cinit__(
        self, Normalizer normalizer, *, bint dummy_prefix, str prefix not None="", SpecialMatcher symbols,
        bint cuttable, fused,
    ):
        self.normalizer = normalizer
        self.prefix_always = prefix == "always"
        self.prefix_first = prefix == "first"
        self.dummy_prefix = dummy_prefix
        self.symbols = symbols
        self.cuttable = cuttable
        self.fused = NONE if fused is None else fused
        self.only_prefixes = normalizer is None and not prefix and symbols is None and fused is None
