from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef int merge_spelled(
    const Tables* tables, const uint8_t* piece, size_t n, bint whole_first, Ids* out
) except -1 nogil
cdef size_t most_symbols(const Tables* tables, size_t n) noexcept nogil
cdef size_t spell_piece(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t* ids, uint32_t* lengths
) except? <size_t> -1 nogil
