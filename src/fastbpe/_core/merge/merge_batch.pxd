from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    # Longest piece of a batch. A mask has 64 bits, a position in a key 6, and simd/merging.h needs one of its 64 places
    # for the end of the piece.
    MAX_PIECE_BYTES = 63
    MAX_PIECES = 128  # pieces of a batch


cdef struct BatchPiece:
    # A piece in a batch, and the ids that merging it yields.
    const uint8_t* text  # its bytes; 16 bytes are readable from here on, even if the piece is shorter
    uint32_t n_bytes  # 1 to MAX_PIECE_BYTES
    uint32_t n_ids  # result
    uint32_t ids[MAX_PIECE_BYTES + 1]  # result; the space after n_ids is overwritten too
    uint8_t bytes[MAX_PIECE_BYTES + 1]  # space for a copy of the piece, if its text may be gone before merging


cdef void merge_batch(const Tables* tables, BatchPiece** pieces, size_t n) noexcept nogil
