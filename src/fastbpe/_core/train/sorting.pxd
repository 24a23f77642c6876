from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef struct PieceCount:
    int64_t count  # out of date for a short piece until the counts are settled
    uint64_t start  # offset of the piece in the arena
    uint64_t first  # position of its first occurrence, in an order that all counters of one source share
    uint32_t n_bytes


cdef struct Keyed:
    # Something to sort
    uint64_t key  # lowest first
    uint32_t at  # index, or for suffixes the offset in a text, that finds the sorted thing again
    uint32_t other  # for suffixes the index of their unit; not used otherwise


cdef void sort_keyed(Keyed* items, size_t n) noexcept nogil
cdef void sort_pieces(
    const uint8_t* arena, const PieceCount* pieces, Keyed* order, size_t n, size_t n_first
) noexcept nogil
cdef int sort_by_first(PieceCount** pieces, size_t* capacity, size_t n) except -1 nogil
