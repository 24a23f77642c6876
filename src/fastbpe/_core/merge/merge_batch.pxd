from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    MAX_PIECE_BYTES = 63  # longest piece of a batch: its symbols are the bits of 64, its positions 6 bits of a key
    MAX_PIECES = 128  # pieces of a batch


cdef struct BatchPiece:
    # A piece in a batch, and the ids that merging makes of it.
    const uint8_t* piece  # 16 bytes are readable from here on, even if the piece is shorter
    uint32_t n_bytes  # 1 to MAX_PIECE_BYTES
    uint32_t n_ids  # result
    uint32_t ids[MAX_PIECE_BYTES + 1]  # result; the space behind n_ids is overwritten too
    uint8_t bytes[MAX_PIECE_BYTES + 1]  # space for a copy of the piece, if its text may go before it is merged


cdef void merge_batch(const Tables* tables, BatchPiece** pieces, size_t n) noexcept nogil
