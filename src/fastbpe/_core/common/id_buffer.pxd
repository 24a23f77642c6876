from libc.stdint cimport uint32_t

cdef enum:
    # Capacity in ids from which ids_expect() asks for huge pages: higher than HUGE_PAGES_FROM_IDS, because most of an
    # estimate may stay unused.
    HUGE_PAGES_FROM_ESTIMATE = 1 << 25


cdef struct Ids:
    # Initialize with zeros. The holder owns the memory, and frees it with ids_free().
    uint32_t* items
    size_t n  # ids in use
    size_t capacity  # ids that fit into the memory


cdef int ids_reserve(Ids* ids, size_t n_more) except -1 nogil
cdef void ids_expect(Ids* ids, size_t n_more) noexcept nogil
cdef void ids_free(Ids* ids) noexcept nogil
