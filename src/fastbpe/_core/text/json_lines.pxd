from libc.stdint cimport uint8_t

from fastbpe._core.text.json_lexer cimport String


cdef struct Line:
    const uint8_t* data
    size_t n  # bytes, without the newline
    bint is_plain
    String found  # value of the wanted field; set only if is_plain


cdef struct Bytes:
    const uint8_t* data
    size_t n


cdef class JsonLines:
    cdef bytes _block, _field  # own the memory
    cdef String _name  # the wanted field
    cdef const uint8_t* _at  # start of the next line
    cdef const uint8_t* _end  # end of the block
    cdef bint _is_utf8  # whether the whole block is UTF-8
    cdef uint8_t* _unescaped  # buffer for the last text with escapes
    cdef size_t _capacity  # bytes of that buffer
    cdef bint next(self, Line* line) noexcept nogil
    cdef bint text(self, const Line* line, Bytes* text) except -1 nogil
