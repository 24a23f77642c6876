from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables

cdef int merge_linked(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, Ids* out
) except -1 nogil
cdef int merge_symbols(
    const Tables* tables, const uint32_t* symbols, size_t n, Ids* out, Ids* parts
) except -1 nogil
