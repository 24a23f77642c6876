from libc.stdint cimport uint8_t

from fastbpe._core.text.utf8_text cimport Text


cdef class TextBatches:
    cdef object _iterator, _error
    cdef bint _is_over
    cdef list texts  # the last batch
    cdef Py_ssize_t first  # index of its first text among all texts
    cdef bint is_one  # it reads the only text of a call
    cdef size_t n_units  # total length of its texts
    cdef list next(self)


cdef class TextRows:
    cdef const uint8_t[::1] _data
    cdef const uint8_t[::1] _offsets  # bytes of int32 or, if _wide, int64
    cdef const uint8_t[::1] _validity  # bits; empty: no row is null
    cdef size_t _first  # row of the buffers that is row 0 here
    cdef size_t _n
    cdef bint _wide
    cdef bint _has_nulls
    cdef int view(self, size_t row, Text* out) except -1
