"""Places: for each byte of a changed text, the byte offset in the original text that it came from."""

from libc.stdlib cimport free

from fastbpe._core.common.memory cimport grown


cdef int places_reserve(Places* places, size_t n_more) except -1 nogil:
    """Make space for n more offsets. The capacity doubles, so appending takes linear time."""
    cdef size_t capacity, size = sizeof(size_t)
    cdef size_t* items
    if n_more > places.capacity - places.n:
        capacity = max(places.n + n_more, 2 * places.capacity)
        items = <size_t*> grown(places.items, places.n * size, places.capacity * size, capacity * size)
        if items == NULL:
            with gil:
                raise MemoryError(f"no memory for the source offsets of {capacity} bytes")
        places.items = items
        places.capacity = capacity
    return 0


cdef size_t place_in(const Places* sources, size_t place) noexcept nogil:
    """Map a place in a changed text to a place in the original text.

    sources: places of the changed text; NULL: it is the original text itself.
    """
    return place if sources == NULL or place == FB_NOWHERE else sources.items[place]


cdef void places_free(Places* places) noexcept nogil:
    free(places.items)
    places.items = NULL
    places.n = places.capacity = 0
