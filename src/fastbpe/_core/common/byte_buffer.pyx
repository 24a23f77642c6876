"""Bytes that grow: where text is changed, and where UTF-8 is made of it."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe._core.common.memory cimport grown, use_huge_pages


cdef int buffer_add(Buffer* buffer, const uint8_t* data, size_t n) except -1 nogil:
    """Append n bytes; the room doubles, so that appending is linear."""
    cdef size_t capacity
    cdef uint8_t* items
    if n > buffer.capacity - buffer.n:
        capacity = max(buffer.n + n, 2 * buffer.capacity)
        items = <uint8_t*> grown(buffer.items, buffer.n, buffer.capacity, capacity)
        if items == NULL:
            with gil:
                raise MemoryError(f"no memory for {capacity} bytes of text")
        buffer.items = items
        buffer.capacity = capacity
    if n:
        memcpy(buffer.items + buffer.n, data, n)
    buffer.n += n
    return 0


cdef int buffer_room(Buffer* buffer, size_t n) except -1 nogil:
    """Empty it, with room for n bytes."""
    if n <= buffer.capacity:
        buffer.n = 0
        return 0
    buffer_free(buffer)
    buffer.items = <uint8_t*> malloc(n)
    if buffer.items == NULL:
        with gil:
            raise MemoryError(f"no memory for {n} bytes of text")
    use_huge_pages(buffer.items, n)
    buffer.capacity = n
    return 0


cdef void buffer_free(Buffer* buffer) noexcept nogil:
    free(buffer.items)
    buffer.items = NULL
    buffer.n = buffer.capacity = 0
