"""A growing buffer of token ids."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, realloc

from fastbpe._core.common.memory cimport grown

cdef enum:
    LEAST_ESTIMATE_BYTES = 1 << 20  # ids_expect() leaves smaller buffers to grow
    MAPPED_FROM_IDS = 1 << 21  # filled ids from which a buffer grows by a map of its own
    HUGE_PAGES_FROM_IDS = 1 << 22  # capacity at which ids_reserve() moves to huge pages


cdef int ids_reserve(Ids* ids, size_t n_more) except -1 nogil:
    """Make room for n_more ids behind those that are there. The capacity doubles, so that appending is linear.

    Raises MemoryError; the buffer is then as it was.
    """
    cdef size_t wanted = ids.n + n_more, capacity
    cdef uint32_t* items
    if wanted <= ids.capacity:
        return 0
    capacity = max(wanted, 2 * ids.capacity, <size_t> 256)
    items = _grown(ids, capacity, HUGE_PAGES_FROM_IDS)
    if items == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity} token ids")
    ids.items = items
    ids.capacity = capacity
    return 0


cdef void ids_expect(Ids* ids, size_t n_more) noexcept nogil:
    """Allocate room for n_more ids at once, before anything is written: a buffer that grows is copied.

    Does nothing for small buffers, and nothing where there is no memory: ids_reserve() then grows the buffer.
    """
    cdef uint32_t* items
    if ids.n + n_more <= ids.capacity or (ids.n + n_more) * sizeof(uint32_t) < LEAST_ESTIMATE_BYTES:
        return
    items = _grown(ids, ids.n + n_more, HUGE_PAGES_FROM_ESTIMATE)
    if items != NULL:
        ids.items = items
        ids.capacity = ids.n + n_more


cdef inline uint32_t* _grown(const Ids* ids, size_t capacity, size_t huge_pages_from) noexcept nogil:
    """Reallocate the buffer for so many ids, on huge pages where it is large; NULL without memory.

    A hypervisor may have taken free huge pages back and must then find them again. So buffers of moderate size, which
    are freed after each call, stay on small pages.
    """
    cdef size_t size = sizeof(uint32_t)
    if ids.n < MAPPED_FROM_IDS and capacity < huge_pages_from:
        return <uint32_t*> realloc(ids.items, capacity * size)
    return <uint32_t*> grown(ids.items, ids.n * size, ids.capacity * size, capacity * size)


cdef void ids_free(Ids* ids) noexcept nogil:
    """Free the buffer and leave it empty, as ids_reserve() takes it."""
    free(ids.items)
    ids.items = NULL
    ids.n = ids.capacity = 0
