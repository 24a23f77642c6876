from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache, LongSlot
from fastbpe._core.common.hashing cimport hash_bytes


cdef inline size_t arena_words(size_t n_bytes) noexcept nogil:
    """Return the number of words of 4 bytes that n bytes take in the arena."""
    return (n_bytes + sizeof(uint32_t) - 1) // sizeof(uint32_t)


cdef inline LongSlot* slot_of(const Cache* cache, uint64_t hash) noexcept nogil:
    """Home slot of a long piece. Requires: cache.n_slots > 0."""
    return &cache.slots[hash >> 32 & (cache.n_slots - 1)]


cdef inline uint64_t long_hash(const Cache* cache, const uint8_t* piece, size_t length) noexcept nogil:
    """Hash a long piece; never 0, which marks an empty slot."""
    return hash_bytes(piece, length, cache.seed) | 1


cdef LongSlot* find_long(const Cache* cache, uint64_t hash, const uint8_t* piece, size_t length) noexcept nogil
cdef void keep_long(
    Cache* cache, uint64_t hash, const uint8_t* piece, size_t length, const uint32_t* ids, size_t n_ids
) noexcept nogil
cdef bint arena_reserve(Cache* cache, size_t n_words, size_t n_slots_more) noexcept nogil
