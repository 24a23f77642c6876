"""Growing buffer of bytes: text, or an array of any other type."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc

from fastbpe._core.common.memory cimport grown, use_huge_pages


cdef int buffer_reserve(Buffer* buffer, size_t n) except -1 nogil:
    """Make space for n more bytes. If memory runs out, raise MemoryError; the buffer is unchanged."""
    cdef size_t capacity
    cdef uint8_t* items
    if n > buffer.capacity - buffer.n:
        capacity = max(buffer.n + n, 2 * buffer.capacity)
        items = <uint8_t*> grown(buffer.items, buffer.n, buffer.capacity, capacity)
        if items == NULL:
            with gil:
                raise MemoryError(f"no memory for {capacity} bytes")
        buffer.items = items
        buffer.capacity = capacity
    return 0


cdef int buffer_reset(Buffer* buffer, size_t capacity) except -1 nogil:
    """Empty the buffer, and make its capacity at least `capacity` bytes.

    If memory runs out, raise MemoryError; the buffer is then empty.
    """
    if capacity <= buffer.capacity:
        buffer.n = 0
        return 0
    buffer_free(buffer)
    buffer.items = <uint8_t*> malloc(capacity)
    if buffer.items == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity} bytes")
    use_huge_pages(buffer.items, capacity)
    buffer.capacity = capacity
    return 0


cdef void buffer_free(Buffer* buffer) noexcept nogil:
    """Free the memory and leave an empty buffer, ready for use."""
    free(buffer.items)
    buffer.items = NULL
    buffer.n = buffer.capacity = 0
