from libc.stdint cimport uint32_t

from fastbpe._core.merge.vocabulary cimport Tables


cdef struct Split:
    # A token split into two tokens.
    uint32_t left
    uint32_t right
    uint32_t merged


cdef struct Splits:
    # Growing array.
    Split* items
    size_t n
    size_t capacity


cdef int find_splits(const Tables* t, bint has_repeated, Splits* out) except -1
