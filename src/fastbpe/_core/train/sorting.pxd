from libc.stdint cimport uint32_t, uint64_t


cdef struct Keyed:
    # Something to sort
    uint64_t key
    uint32_t at
    uint32_t other


cdef void sort_keyed(Keyed* items, size_t n) noexcept nogil
