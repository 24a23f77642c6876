from libc.stdint cimport uint32_t

from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizer
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef class Normalizing:
    cdef readonly Normalizer normalizer  # None: text is worked on as it is
    cdef readonly bint dummy_prefix  # without a normalizer: a space is put before any text
    cdef readonly bint prefix_always  # a space is put before text between tokens, unless it begins with one
    cdef readonly bint prefix_first  # likewise, where the text begins
    cdef readonly SpecialMatcher symbols  # None: there are none
    cdef readonly bint cuttable  # a letter before a space stays the end of a word: text may be cut there
    cdef bint only_prefixes  # nothing but the dummy prefix happens to text, and nothing to ids
    cdef uint32_t fused  # of this id there are never two in a row; NONE: of any there may be
