"""Arrays that grow."""

from libc.stdlib cimport realloc


cdef inline int grow(void** items, size_t capacity, size_t item_size) except -1 nogil:
    """Reallocate `items` for `capacity` items. Raises MemoryError and then leaves them unchanged."""
    cdef void* grown = realloc(items[0], capacity * item_size)
    if grown == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity * item_size} bytes")
    items[0] = grown
    return 0


cdef inline int reserve(
    void** items, size_t* capacity, size_t wanted, size_t item_size, size_t least
) except -1 nogil:
    """Make space for `wanted` items; growing at least doubles the capacity, to `least` or more."""
    cdef size_t n
    if wanted <= capacity[0]:
        return 0
    n = max(wanted, 2 * capacity[0], least)
    grow(items, n, item_size)
    capacity[0] = n
    return 0
