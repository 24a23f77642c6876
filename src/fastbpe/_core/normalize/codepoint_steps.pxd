from libc.stdint cimport uint32_t

from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizer
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef class Normalizing:
    cdef readonly Normalizer normalizer  # None: texts are split without normalization
    cdef readonly bint dummy_prefix  # if there is no normalizer: put a space before each text
    cdef readonly bint prefix_always  # put a space before each text between tokens that does not begin with one
    cdef readonly bint prefix_first  # the same, only at the beginning of a text
    cdef readonly SpecialMatcher symbols  # user-defined symbols; None: there are none
    cdef readonly bint cuttable  # a letter or number before a space ends a word: a safe cut is between
    cdef readonly Normalizer to_spaces  # if there is no normalizer: for U+2581 where spans are asked for
    cdef readonly bint as_tokenizers  # give the spans that tokenizers gives; False: sentencepiece's
    cdef readonly bint removes_spaces  # the normalizer makes one space of several
    cdef bint only_prefixes  # the dummy prefix is the only change to texts, and ids do not change
    cdef uint32_t fused  # several of this id in a row become one; NONE: no id
