"""Bytes that grow: where text is changed."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy


cdef int buffer_add(Buffer* buffer, const uint8_t* data, size_t n) except -1 nogil:
    """Append n bytes; the room doubles, so that appending is linear."""
    cdef size_t capacity
    cdef uint8_t* items
    if n > buffer.capacity - buffer.n:
        capacity = max(buffer.n + n, 2 * buffer.capacity)
        items = <uint8_t*> realloc(buffer.items, capacity)
        if items == NULL:
            with gil:
                raise MemoryError(f"no memory for {capacity} bytes of text")
        buffer.items = items
        buffer.capacity = capacity
    if n:
        memcpy(buffer.items + buffer.n, data, n)
    buffer.n += n
    return 0


cdef void buffer_free(Buffer* buffer) noexcept nogil:
    free(buffer.items)
    buffer.items = NULL
    buffer.n = buffer.capacity = 0
