"""Keys of 16 bytes for pieces of 1 to 15: the piece, zero-padded, with its length in the last byte.

A key is exact and never 0.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "simd/keys.h" nogil:
    uint64_t fold "fb_fold"(uint64_t a, uint64_t b) noexcept  # both halves of the 128-bit product, combined by xor
    # Store the key of a piece of n <= SHORT_BYTES bytes at `key`; return its low half and store its high half.
    # Requires: 16 bytes from `piece` on are readable.
    uint64_t make_key "fb_make_key"(const uint8_t* piece, size_t n, void* key, uint64_t* high) noexcept

cdef extern from "simd/lines.h" nogil:
    # Tell whether one of a line's two entries has this key; if so, *at is the entry's offset in bytes. See
    # simd/lines.h.
    bint find_in_line "fb_find_in_line"(const void* line, const void* key, size_t* at) noexcept

cdef enum:
    SHORT_BYTES = 15  # longest piece that has a key


cdef inline uint64_t key_hash(uint64_t low, uint64_t high, uint64_t seed) noexcept nogil:
    """Hash a key by one multiplication of 64 by 64 bits.

    Nobody who does not know the seed can make keys collide. Where a key has its length, the constant has 0xFF, or 0xFD
    on a big-endian machine, so that the second factor is never 0.
    """
    return fold(low ^ seed, high ^ 0xFFD6E8FEB86659FDULL)


cdef inline void write_key(uint64_t* key, const uint8_t* piece, size_t n) noexcept nogil:
    """Store the key of a piece of n <= SHORT_BYTES bytes as two halves; no byte after the piece is read."""
    key[0] = key[1] = 0
    memcpy(key, piece, n)
    (<uint8_t*> key)[15] = <uint8_t> n


cdef inline size_t copy_tail(uint8_t* tail, const uint8_t* data, size_t n) noexcept nogil:
    """Copy the last 16 bytes of a text, or all of a shorter one, and add zeros, so that keys can be made there.

    tail: 32 bytes.
    Returns the offset in the text at which the copied bytes begin.
    """
    memset(tail + 16, 0, 16)
    if n >= 16:
        memcpy(tail, data + n - 16, 16)
        return n - 16
    memset(tail, 0, 16)
    memcpy(tail, data, n)
    return 0
