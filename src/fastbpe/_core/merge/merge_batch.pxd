from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    MAX_PIECE_BYTES = 63  # of a piece that is merged side by side with others
    MAX_PIECES = 128  # at a time


cdef struct Merging:
    # A piece on its way to its ids.
    const uint8_t* piece  # of fewer than 16 bytes: 16 may be read
    uint32_t n_bytes
    uint32_t n_ids  # when it is done
    uint32_t ids[MAX_PIECE_BYTES + 1]
    uint8_t bytes[MAX_PIECE_BYTES + 1]  # room for the piece, where it would not stay


cdef void merge_side_by_side(const Tables* tables, Merging** pieces, size_t n) noexcept nogil
