from libc.stdint cimport uint8_t

from fastbpe._core.text.json_lexer cimport String


cdef struct Line:
    const uint8_t* data
    size_t n
    bint is_plain
    String found


cdef struct Bytes:
    const uint8_t* data
    size_t n


cdef class JsonLines:
    cdef bytes _block, _field
    cdef String _name
    cdef const uint8_t* _at
    cdef const uint8_t* _end
    cdef bint _is_utf8
    cdef uint8_t* _unescaped
    cdef size_t _capacity
    cdef bint next(self, Line* line) noexcept nogil
    cdef bint text(self, const Line* line, Bytes* text) except -1 nogil
