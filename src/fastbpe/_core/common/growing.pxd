"""Arrays that grow."""

from libc.stdlib cimport realloc

from fastbpe._core.common.memory cimport resized


cdef inline int grow(void** items, size_t capacity, size_t item_size) except -1 nogil:
    """Reallocate `items` for `capacity` items. If it raises MemoryError, they are unchanged."""
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


cdef inline int resize(void** items, size_t* capacity, size_t n, size_t item_size) except -1 nogil:
    """Give an array space for n items; 0 frees it. Large arrays have pages of their own: see `resized`.

    If it raises MemoryError, the array is unchanged.

    Requires: only `resized` and its callers allocate and free the array.
    """
    cdef void* new_items = resized(items[0], capacity[0] * item_size, n * item_size)
    if new_items == NULL and n:
        with gil:
            raise MemoryError(f"no memory for {n * item_size} bytes")
    items[0] = new_items
    capacity[0] = n
    return 0


cdef inline int reserve_resized(
    void** items, size_t* capacity, size_t wanted, size_t item_size, size_t least
) except -1 nogil:
    """Do the same as `reserve`, for an array that `resize` allocates."""
    if wanted <= capacity[0]:
        return 0
    return resize(items, capacity, max(wanted, 2 * capacity[0], least), item_size)
