from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    MUCH_ROOM = 1 << 25  # for ids, one for each byte of text: from here on they are put on huge pages


cdef struct Ids:
    # A growing buffer of token ids; also the scratch of whoever fills it.
    uint32_t* items
    size_t n
    size_t capacity


cdef int ids_reserve(Ids* ids, size_t n_more) except -1 nogil
cdef void ids_expect(Ids* ids, size_t n_more) noexcept nogil
cdef void ids_free(Ids* ids) noexcept nogil
cdef int encode_piece(const Tables* tables, const uint8_t* piece, size_t n_bytes, Ids* out) except -1 nogil
cdef int merge_piece(
    const Tables* tables, const uint8_t* piece, size_t n_bytes, uint32_t limit, Ids* out
) except -1 nogil
