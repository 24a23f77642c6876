"""Growing byte buffer for UTF-8 converted from a str, or for text that a normalizer has changed."""

from libc.stdint cimport uint8_t


cdef struct Buffer:
    # Initialize with zeros. The holder owns the memory, and frees it with buffer_free().
    uint8_t* items
    size_t n  # bytes in use
    size_t capacity  # bytes allocated


cdef int buffer_add(Buffer* buffer, const uint8_t* data, size_t n) except -1 nogil
cdef int buffer_reserve(Buffer* buffer, size_t n) except -1 nogil
cdef int buffer_reset(Buffer* buffer, size_t capacity) except -1 nogil
cdef void buffer_free(Buffer* buffer) noexcept nogil
