from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.merge cimport Ids
from fastbpe._core.special cimport SpecialMatcher
from fastbpe._core.splitter cimport Ends, Splitter
from fastbpe._core.vocabulary cimport Vocabulary


cdef struct Scratch:
    Ids ids
    Ends ends


cdef class IdBuffer:
    cdef uint32_t* _items
    cdef Py_ssize_t _n
    cdef Py_ssize_t _shape[1]
    cdef Py_ssize_t _strides[1]


cdef class Encoder:
    cdef readonly Vocabulary vocabulary
    cdef readonly Splitter splitter
    cdef list _kept_ints
    cdef Scratch* _spare
    cdef Scratch* _take(self) except NULL
    cdef void _give(self, Scratch* scratch) noexcept
    cdef int _append(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch
    ) except -1
    cdef int _with_special(
        self, const uint8_t* data, size_t n, SpecialMatcher allowed, Scratch* scratch
    ) except -1 nogil
    cdef int _ordinary(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef list _to_list(self, const uint32_t* ids, size_t n)
