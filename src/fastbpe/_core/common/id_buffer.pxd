from libc.stdint cimport uint32_t

cdef enum:
    HUGE_PAGES_FROM_ESTIMATE = 1 << 25  # ids; ids_expect() asks for huge pages from here on: its size is an upper bound


cdef struct Ids:
    # A growing buffer of token ids. Owned by whoever fills it; ids_free() gives it back.
    uint32_t* items
    size_t n
    size_t capacity


cdef int ids_reserve(Ids* ids, size_t n_more) except -1 nogil
cdef void ids_expect(Ids* ids, size_t n_more) noexcept nogil
cdef void ids_free(Ids* ids) noexcept nogil
