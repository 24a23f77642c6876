"""Reading JSON where it lies. Every reader may look at the byte behind, for a bytes object ends with a zero."""

from libc.stdint cimport uint8_t, uint32_t


cdef struct Span:
    size_t start
    size_t end


cdef inline size_t skip_blanks(const uint8_t* data, size_t at) noexcept:
    while data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9:
        at += 1
    return at


cdef bint pass_string(const uint8_t* data, size_t* at, size_t end, Span* inside, bint* escaped) noexcept
cdef bint read_number(const uint8_t* data, uint32_t limit, size_t at, size_t* behind, uint32_t* value) noexcept
cdef bint unescape(const uint8_t* data, Span inside, uint8_t** out) noexcept
cdef bint pass_value(const uint8_t* data, size_t n, size_t* at) noexcept
cdef bint is_utf8(const uint8_t* p, size_t n) noexcept
