"""Index (0 to 63) of the lowest and of the highest set bit of a 64-bit word, and words of eight bytes (SWAR).

Requires: a word whose set bit is searched for is not 0.
"""

from libc.stdint cimport uint8_t, uint64_t

cdef extern from *:
    """
    #define FASTBPE_ONES 0x0101010101010101ull
    #define FASTBPE_HIGH 0x8080808080808080ull
    #ifdef _MSC_VER
    #include <intrin.h>
    static inline unsigned fastbpe_lowest_bit(uint64_t word) {
        unsigned long at;
        _BitScanForward64(&at, word);
        return at;
    }
    static inline unsigned fastbpe_highest_bit(uint64_t word) {
        unsigned long at;
        _BitScanReverse64(&at, word);
        return at;
    }
    #else
    static inline unsigned fastbpe_lowest_bit(uint64_t word) { return (unsigned)__builtin_ctzll(word); }
    static inline unsigned fastbpe_highest_bit(uint64_t word) { return 63u - (unsigned)__builtin_clzll(word); }
    #endif
    """
    unsigned int lowest_bit "fastbpe_lowest_bit"(uint64_t word) noexcept nogil
    unsigned int highest_bit "fastbpe_highest_bit"(uint64_t word) noexcept nogil
    const uint64_t ONES "FASTBPE_ONES"  # 1 in each byte
    const uint64_t HIGH "FASTBPE_HIGH"  # the top bit of each byte


cdef inline uint64_t eight_bytes(const uint8_t* p) noexcept nogil:
    """Load 8 bytes, the first into the lowest bits on any machine. Compilers turn this into a single load."""
    return (
        p[0] | <uint64_t> p[1] << 8 | <uint64_t> p[2] << 16 | <uint64_t> p[3] << 24
        | <uint64_t> p[4] << 32 | <uint64_t> p[5] << 40 | <uint64_t> p[6] << 48 | <uint64_t> p[7] << 56
    )


cdef inline uint64_t head_of(const uint8_t* p, size_t n) noexcept nogil:
    """Return the first eight of n bytes, padded with zeros at the end, as a number that sorts like them."""
    cdef uint64_t head = 0
    cdef size_t i
    for i in range(8):
        head = head << 8 | (p[i] if i < n else 0)
    return head
