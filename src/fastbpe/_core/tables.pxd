"""Hashing and open-addressing tables: the shapes that every other module looks things up in.

All tables are powers of two, probed linearly and at most two-thirds full, so that a search always meets an
empty slot. Their bytes are what `.fbpe` files hold: change nothing here without a new file version.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from *:
    # Not a Cython enum: that would be an int, and -1 beside a size_t.
    """
    #define FASTBPE_NONE UINT32_MAX
    """
    const uint32_t NONE "FASTBPE_NONE"  # no id, no priority, an empty slot


cdef struct PieceSlot:
    uint32_t tag  # high half of the hash: most misses end here, without reading the token's bytes
    uint32_t id


cdef struct PairSlot:
    uint32_t left
    uint32_t right
    uint32_t priority
    uint32_t id


cdef inline uint64_t load64(const uint8_t* p) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word


cdef inline uint32_t load32(const uint8_t* p) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, p, 4)
    return word


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ULL
    h = (h ^ (h >> 29)) * 0x9FB21C651E98DF25ULL
    return h ^ (h >> 32)


cdef inline uint64_t hash_bytes(const uint8_t* p, size_t n, uint64_t seed) noexcept nogil:
    """A 64-bit hash of n bytes; pieces of up to 16 bytes, nearly all, take two loads and no loop.

    The seed goes in before anything is combined: who does not know it cannot make collisions.
    """
    cdef uint64_t a, b, h = n * 0x9E3779B97F4A7C15ULL + seed
    if n >= 8:
        while n > 16:
            h = mix(h ^ load64(p)) + load64(p + 8) * 0xC2B2AE3D27D4EB4FULL
            p += 16
            n -= 16
        if n >= 8:
            a = load64(p)
            b = load64(p + n - 8)
        else:
            a = load64(p + n - 8)  # the loop ran, so these eight bytes are ours
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


cdef inline size_t pair_home(uint32_t left, uint32_t right, uint32_t shift) noexcept nogil:
    return <size_t> ((<uint64_t> left * 0x9E3779B97F4A7C15ULL + <uint64_t> right * 0xD6E8FEB86659FD93ULL)
                     >> shift)


cdef inline const PairSlot* find_pair(
    const PairSlot* table, uint32_t shift, uint32_t left, uint32_t right
) noexcept nogil:
    """The slot of the pair, or the empty slot (priority NONE) that proves its absence."""
    cdef size_t mask = (<size_t> 1 << (64 - shift)) - 1
    cdef size_t i = pair_home(left, right, shift)
    while table[i].priority != NONE and (table[i].left != left or table[i].right != right):
        i = (i + 1) & mask
    return &table[i]


cdef inline uint32_t find_piece(
    const PieceSlot* table, size_t mask, const uint8_t* bytes_, const uint32_t* ends,
    const uint8_t* p, size_t n,
) noexcept nogil:
    """The id of the token whose bytes are p[:n], or NONE."""
    cdef uint64_t h = hash_bytes(p, n, 0)
    cdef uint32_t tag = <uint32_t> (h >> 32), start, token
    cdef size_t i = <size_t> h & mask
    while table[i].id != NONE:
        if table[i].tag == tag:
            token = table[i].id
            start = ends[token - 1] if token else 0
            if ends[token] - start == n and memcmp(bytes_ + start, p, n) == 0:
                return token
        i = (i + 1) & mask
    return NONE


cdef inline int table_bits(size_t n_entries) noexcept nogil:
    """log2 of the slots for n entries, between one third and two thirds full (at least 4 slots)."""
    cdef int bits = 2
    while (<size_t> 1 << bits) * 2 < n_entries * 3 + 3:
        bits += 1
    return bits
