"""Hash functions of bytes and numbers, and the loads that they use.

They are not in `hash_tables`: most modules need its types, and Cython would translate these functions for each.

The multipliers come from well-known hash functions: degski's and Evensen's mixers, and xxHash. `.fbpe` files
contain tables whose slots depend on them.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO


cdef inline uint64_t load64(const uint8_t* p) noexcept nogil:
    """Load 8 bytes from any address, in the machine's byte order."""
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word


cdef inline uint32_t load32(const uint8_t* p) noexcept nogil:
    """Load 4 bytes from any address, in the machine's byte order."""
    cdef uint32_t word
    memcpy(&word, p, 4)
    return word


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    """Spread each bit of h over all 64 bits (a bijection: multiply and xor-shift, twice)."""
    h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ULL
    h = (h ^ (h >> 29)) * 0x9FB21C651E98DF25ULL
    return h ^ (h >> 32)


cdef inline uint64_t hash_bytes(const uint8_t* p, size_t n, uint64_t seed) noexcept nogil:
    """Hash n bytes to 64 bits.

    Up to 16 bytes, the size of nearly all pieces, take two loads, which may overlap, and no loop. The seed enters
    before the first byte, so nobody who does not know it can choose bytes that collide. Tables that are stored in
    files use seed 0; a big-endian processor, whose hashes differ, builds its own (see formats.native).
    """
    cdef uint64_t a, b, h = n * GOLDEN_RATIO + seed
    if n >= 8:
        while n > 16:
            h = mix(h ^ load64(p)) + load64(p + 8) * 0xC2B2AE3D27D4EB4FULL
            p += 16
            n -= 16
        if n >= 8:
            a = load64(p)
            b = load64(p + n - 8)
        else:
            a = load64(p + n - 8)  # reads back into bytes of the last round: the loop has run at least once
            b = 0
    elif n >= 4:
        a = load32(p)
        b = load32(p + n - 4)
    elif n:
        a = (<uint64_t> p[0] << 16) | (<uint64_t> p[n >> 1] << 8) | p[n - 1]
        b = 0
    else:
        return mix(h)
    return mix(mix(h ^ a) ^ (b * 0xC2B2AE3D27D4EB4FULL))


cdef inline bint same_bytes(const uint8_t* one, const uint8_t* other, size_t n) noexcept nogil:
    """Tell whether two texts of n bytes are equal. Requires: n > 0.

    Up to 16 bytes are compared by two loads that may overlap: a loop would end with a branch that cannot be
    predicted.
    """
    if n > 16:
        return memcmp(one, other, n) == 0
    if n >= 8:
        return load64(one) == load64(other) and load64(one + n - 8) == load64(other + n - 8)
    if n >= 4:
        return load32(one) == load32(other) and load32(one + n - 4) == load32(other + n - 4)
    return one[0] == other[0] and one[n >> 1] == other[n >> 1] and one[n - 1] == other[n - 1]


cdef inline int table_bits(size_t n_entries) noexcept nogil:
    """log2 of the number of slots for n entries: at least 8 slots, and n + 1 entries fill at most two thirds of them.

    An empty slot would be left without the + 1, too; files contain tables of these sizes.
    """
    cdef int bits = 3
    while (<size_t> 1 << bits) * 2 < n_entries * 3 + 3:
        bits += 1
    return bits
