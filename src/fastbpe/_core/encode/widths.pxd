from libc.stdint cimport uint32_t

from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.text.special_tokens cimport SpecialMatcher

cdef extern from *:
    # Values in place of a width; as Cython enums they would be ints.
    """
    #define FASTBPE_UNKNOWN_CHARACTER 0u
    #define FASTBPE_BYTE_OF_CHARACTER UINT32_MAX
    """
    const uint32_t UNKNOWN_CHARACTER "FASTBPE_UNKNOWN_CHARACTER"  # as many bytes as the character has
    const uint32_t BYTE_OF_CHARACTER "FASTBPE_BYTE_OF_CHARACTER"  # one of the byte ids that a character has


cdef class Widths:
    cdef uint32_t* of  # id: bytes of normalized text, or UNKNOWN_CHARACTER or BYTE_OF_CHARACTER
    cdef size_t n_ids
