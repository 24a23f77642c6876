from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.train.piece_table cimport PieceCount


cdef struct Keyed:
    # Something to sort
    uint64_t key
    uint32_t at
    uint32_t other


cdef void sort_keyed(Keyed* items, size_t n) noexcept nogil
cdef void sort_by_bytes(
    const uint8_t* arena, const PieceCount* pieces, Keyed* order, size_t n, size_t depth
) noexcept nogil
