"""Bytes that grow: where text is changed, and where UTF-8 is made of it."""

from libc.stdint cimport uint8_t


cdef struct Buffer:
    uint8_t* items
    size_t n
    size_t capacity


cdef int buffer_add(Buffer* buffer, const uint8_t* data, size_t n) except -1 nogil
cdef int buffer_room(Buffer* buffer, size_t n) except -1 nogil
cdef void buffer_free(Buffer* buffer) noexcept nogil
