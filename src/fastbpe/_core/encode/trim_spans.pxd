from libc.stdint cimport uint32_t

from fastbpe._core.common.free_threading cimport Lock
from fastbpe._core.encode.spans cimport Span


cdef struct Blanks:
    # Spaces of a token
    uint32_t before
    uint32_t behind


cdef class SpanTrimmer:
    cdef bytes _prefixed  # prefixed as bytes: 1 for True
    cdef object _tokens
    cdef object _blank_characters
    cdef Blanks* _blanks  # by id; valid once _has_blanks is set
    cdef size_t _n_ids
    cdef int _has_blanks  # atomic
    cdef Lock _lock  # held while the blanks are made
    cdef int _make_blanks(self) except -1
    cdef int trim(self, const uint32_t* ids, Span* spans, size_t n, list found, size_t first, int unit) except -1
    cdef void _trim(self, Span* span, Blanks blanks, bint is_first) noexcept
