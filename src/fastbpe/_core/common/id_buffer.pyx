"""Growing buffer of token ids."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, realloc

from fastbpe._core.common.memory cimport grown

cdef enum:
    MIN_ESTIMATE_BYTES = 1 << 20  # below this size ids_expect() does nothing, and ids_reserve() grows the buffer
    GROWN_FROM_IDS = 1 << 21  # ids in use from which _grown() avoids realloc(), which copies the unused part too
    HUGE_PAGES_FROM_IDS = 1 << 22  # capacity at which ids_reserve() moves to huge pages


cdef int ids_reserve(Ids* ids, size_t n_more) except -1 nogil:
    """Make the capacity at least n + n_more ids. It doubles, so appending takes linear time.

    If it raises MemoryError, the buffer is unchanged.
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
    """Allocate memory for an estimated n + n_more ids at once, to avoid the copies of a growing buffer.

    Does nothing below MIN_ESTIMATE_BYTES or if memory is short: then ids_reserve() grows the buffer.
    """
    cdef uint32_t* items
    if ids.n + n_more <= ids.capacity or (ids.n + n_more) * sizeof(uint32_t) < MIN_ESTIMATE_BYTES:
        return
    items = _grown(ids, ids.n + n_more, HUGE_PAGES_FROM_ESTIMATE)
    if items != NULL:
        ids.items = items
        ids.capacity = ids.n + n_more


cdef inline uint32_t* _grown(const Ids* ids, size_t capacity, size_t huge_pages_from) noexcept nogil:
    """Reallocate the buffer to `capacity` ids, using huge pages from `huge_pages_from` on; NULL if out of memory.

    Buffers of moderate size, which live for one call, use small pages: a hypervisor may take free huge pages back,
    and must then find new ones.
    """
    cdef size_t size = sizeof(uint32_t)
    if ids.n < GROWN_FROM_IDS and capacity < huge_pages_from:
        return <uint32_t*> realloc(ids.items, capacity * size)
    return <uint32_t*> grown(ids.items, ids.n * size, ids.capacity * size, capacity * size)


cdef void ids_free(Ids* ids) noexcept nogil:
    """Free the memory and leave an empty buffer, ready for use."""
    free(ids.items)
    ids.items = NULL
    ids.n = ids.capacity = 0
