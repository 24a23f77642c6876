from libc.stdint cimport int32_t, uint8_t, uint32_t

from fastbpe._core.vocabulary cimport Tables

cdef enum:
    MOST_BYTES = 32  # of a piece that is merged side by side with others
    MOST_PIECES = 128  # at a time


cdef struct Merging:
    # A piece on its way to its ids, which take the place of its symbols; see merge._merge_ranked.
    const uint8_t* piece
    uint32_t n_bytes
    uint32_t number  # whatever the caller wants to know it by
    uint32_t n_ids  # when it is done
    uint32_t n_keys
    uint32_t alive  # a bit for each symbol that is left
    uint32_t at  # the symbol that was made last, and whose pairs were asked for
    uint32_t left
    uint32_t right
    uint32_t has_left
    uint32_t has_right
    uint32_t ids[MOST_BYTES]
    int32_t keys[MOST_BYTES]


cdef void merge_side_by_side(const Tables* tables, Merging* pieces, size_t n) noexcept nogil
