"""The hash of the tables in which `formats` looks up a file's tokens."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t hash_bytes(const uint8_t* data, size_t n, uint64_t seed) noexcept nogil:
    """seed: what nobody can foresee, so that no file can make many tokens meet in one place."""
    cdef uint64_t word, h = n ^ seed
    while n > 8:
        memcpy(&word, data, 8)
        h = (h ^ word) * 0x9E3779B97F4A7C15ULL
        h ^= h >> 29
        data += 8
        n -= 8
    h = (h ^ _up_to_eight(data, n)) * 0x9E3779B97F4A7C15ULL
    return h ^ (h >> 29)


cdef inline uint64_t _up_to_eight(const uint8_t* data, size_t n) noexcept nogil:
    """A word of up to eight bytes: loads that overlap, none of what is not theirs."""
    cdef uint32_t low, high
    if n >= 4:
        memcpy(&low, data, 4)
        memcpy(&high, data + n - 4, 4)
        return <uint64_t> high << 32 | low
    if n == 0:
        return 0
    return <uint64_t> data[0] << 16 | <uint64_t> data[n >> 1] << 8 | data[n - 1]
