"""Short pieces as keys of 16 bytes: the piece, then zeros, the last byte its length; exact, and never 0."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #ifndef FASTBPE_KEYS
    #define FASTBPE_KEYS
    /* Both halves of a product of 64 by 64 bits, folded into one. */
    #ifdef __SIZEOF_INT128__
    static inline uint64_t fastbpe_fold(uint64_t a, uint64_t b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    #else
    static inline uint64_t fastbpe_fold(uint64_t a, uint64_t b) {
        uint64_t low = a * b, cross = (a >> 32) * (b & 0xFFFFFFFF) + (((a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)) >> 32);
        uint64_t middle = (a & 0xFFFFFFFF) * (b >> 32) + (cross & 0xFFFFFFFF);
        return low ^ ((a >> 32) * (b >> 32) + (cross >> 32) + (middle >> 32));
    }
    #endif
    #define FASTBPE_FIRST(n) ((n) >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * (n) & 63)) - 1)
    #define FASTBPE_MASK(n) {FASTBPE_FIRST(n), FASTBPE_FIRST((n) < 8 ? 0 : (n) - 8)}
    static const uint64_t fastbpe_masks[16][2] = {
        FASTBPE_MASK(0), FASTBPE_MASK(1), FASTBPE_MASK(2), FASTBPE_MASK(3), FASTBPE_MASK(4), FASTBPE_MASK(5),
        FASTBPE_MASK(6), FASTBPE_MASK(7), FASTBPE_MASK(8), FASTBPE_MASK(9), FASTBPE_MASK(10), FASTBPE_MASK(11),
        FASTBPE_MASK(12), FASTBPE_MASK(13), FASTBPE_MASK(14), FASTBPE_MASK(15),
    };
    #endif
    """
    uint64_t fold "fastbpe_fold"(uint64_t a, uint64_t b) noexcept nogil
    const uint64_t[16][2] key_masks "fastbpe_masks"  # of a piece of so many bytes, in the two halves of its key

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
