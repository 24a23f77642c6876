from libc.stdint cimport uint8_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef void cache_start(Cache* cache, uint64_t seed, size_t limit) noexcept nogil
cdef void cache_free(Cache* cache) noexcept nogil
cdef void cache_limit(Cache* cache, size_t limit) noexcept nogil
cdef size_t cache_bytes(const Cache* cache) noexcept nogil
cdef int probe_group(
    Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_pieces
) except -1 nogil
cdef int look_up_group(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t start, const size_t* ends,
    size_t n_pieces, Ids* out,
) except -1 nogil
cdef int encode_pieces(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t n, size_t start,
    const size_t* ends, size_t n_ends, Ids* out,
) except -1 nogil
