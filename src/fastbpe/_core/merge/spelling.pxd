from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.segmented cimport SHARED
from fastbpe._core.merge.vocabulary cimport Tables


cdef int merge_spelled(
    const Tables* tables, const uint8_t* piece, size_t n, bint whole_first, Ids* out
) except -1 nogil
cdef size_t most_symbols(const Tables* tables, size_t n) noexcept nogil
cdef size_t spell_piece(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t* ids, uint32_t* lengths
) except? <size_t> -1 nogil


cdef inline uint32_t next_of_trace(const Ids* trace, size_t* i, size_t* length, bint* is_shared) noexcept nogil:
    """Return the id at index *i of a trace, and move *i behind its items.

    length: receives the bytes that the id stands for. is_shared: receives whether the next id stands for them, too.
    """
    cdef uint32_t item = trace.items[i[0]]
    length[0], is_shared[0] = item >> 24, False
    i[0] += 1
    if length[0] == 255:
        length[0], is_shared[0] = trace.items[i[0]] & ~SHARED, (trace.items[i[0]] & SHARED) != 0
        i[0] += 1
    return item & 0xFFFFFF
