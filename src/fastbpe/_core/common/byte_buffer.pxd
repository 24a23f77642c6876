from libc.stdint cimport uint8_t
from libc.string cimport memcpy


cdef struct Buffer:
    # Initialize with zeros. The holder owns the memory, and frees it with buffer_free().
    # Aligned for every type, as malloc() does. NULL at first: memcpy() must not get it, not even for 0 bytes.
    uint8_t* items
    size_t n  # bytes in use
    size_t capacity  # bytes allocated


cdef int buffer_reserve(Buffer* buffer, size_t n) except -1 nogil
cdef int buffer_reset(Buffer* buffer, size_t capacity) except -1 nogil
cdef void buffer_free(Buffer* buffer) noexcept nogil


cdef inline int buffer_add(Buffer* buffer, const uint8_t* data, size_t n) except -1 nogil:
    """Append n bytes. The capacity doubles, so appending takes linear time.

    Requires: data does not point into the buffer. If it raises MemoryError, the buffer is unchanged.
    """
    if n > buffer.capacity - buffer.n:
        buffer_reserve(buffer, n)
    if n:
        memcpy(buffer.items + buffer.n, data, n)
    buffer.n += n
    return 0
