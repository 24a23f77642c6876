"""The hash of the tables in which `formats` looks up a file's tokens."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t hash_bytes(const uint8_t* data, size_t n, uint64_t seed) noexcept nogil:
    """seed: what nobody can foresee, so that no file can make many tokens meet in one place."""
    cdef uint64_t word, h = n ^ seed
    while n:
        word = 0
        memcpy(&word, data, 8 if n > 8 else n)
        h = (h ^ word) * 0x9E3779B97F4A7C15ULL
        h ^= h >> 29
        if n <= 8:
            break
        data += 8
        n -= 8
    return h ^ (h >> 32)
