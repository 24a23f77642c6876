"""Short pieces as keys of 16 bytes: the piece, then zeros, the last byte its length; exact, and never 0."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "simd/keys.h" nogil:
    uint64_t fold "fb_fold"(uint64_t a, uint64_t b) noexcept
    # Store a piece's key, and give its halves; 16 bytes behind its beginning may be read.
    uint64_t make_key "fb_make_key"(const uint8_t* piece, size_t n, void* key, uint64_t* high) noexcept

cdef extern from "simd/lines.h" nogil:
    bint find_in_line "fb_find_in_line"(const void* line, const void* key, size_t* at) noexcept

cdef enum:
    SHORT_BYTES = 15  # pieces of up to so many bytes have keys


cdef inline uint64_t key_hash(uint64_t low, uint64_t high, uint64_t seed) noexcept nogil:
    return fold(low ^ seed, high ^ 0xFFD6E8FEB86659FDULL)


cdef inline size_t copy_tail(uint8_t* tail, const uint8_t* data, size_t n) noexcept nogil:
    """Copy a text's last 16 bytes, or all of a shorter one, and behind them zeros, so that nothing behind the text
    is read. tail: 32 bytes. Returns where in the text it begins."""
    memset(tail + 16, 0, 16)
    if n >= 16:
        memcpy(tail, data + n - 16, 16)
        return n - 16
    memset(tail, 0, 16)
    memcpy(tail, data, n)
    return 0
