"""Growing byte buffer: UTF-8 that the core makes of a str, and text that a normalizer changes."""

from libc.stdint cimport uint8_t


cdef struct Buffer:
    # Starts as all zeros. Whoever holds it owns the memory, and gives it back with buffer_free().
    uint8_t* items
    size_t n  # bytes in use
    size_t capacity  # bytes allocated


cdef int buffer_add(Buffer* buffer, const uint8_t* data, size_t n) except -1 nogil
cdef int buffer_reserve(Buffer* buffer, size_t n) except -1 nogil
cdef int buffer_reset(Buffer* buffer, size_t capacity) except -1 nogil
cdef void buffer_free(Buffer* buffer) noexcept nogil
