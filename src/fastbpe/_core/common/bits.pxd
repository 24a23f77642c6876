"""Index of the lowest and of the highest set bit of a 64-bit word, 0 to 63. Requires: the word is not 0."""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
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
