"""Hashing and open-addressing tables: the shapes that every other module looks things up in.

All tables are powers of two and at most two-thirds full, so that a search always meets an empty slot. Slots are probed
one after another, those of ranked pairs within lines of eight, each around from its home slot, before the next line.
Their bytes are what `.fbpe` files hold: what changes here needs a new name for its section there.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.memory cimport likely

cdef extern from *:
    # Not a Cython enum: that would be an int, and -1 beside a size_t.
    """
    #define FASTBPE_NONE UINT32_MAX
    #define FASTBPE_NO_PAIR UINT64_MAX
    #define FASTBPE_RANKED_MASK (((uint64_t)1 << 21) - 1)
    """
    const uint32_t NONE "FASTBPE_NONE"  # no id, no priority, an empty slot
    const uint64_t NO_PAIR "FASTBPE_NO_PAIR"  # an empty slot of the ranked table
    const uint64_t RANKED_MASK "FASTBPE_RANKED_MASK"

cdef extern from "simd/fibonacci.h" nogil:
    const uint64_t FIBONACCI "FB_FIBONACCI"  # multiplier of Fibonacci hashing: its product's top bits are the slot


cdef struct PieceSlot:
    uint32_t tag  # high half of the hash: most misses end here, without reading the token's bytes
    uint32_t id


cdef struct PairSlot:
    uint32_t left
    uint32_t right
    uint32_t priority
    uint32_t id


cdef enum:
    RANKED_BITS = 21  # of each of the three ids that a word of the ranked table holds
    MAX_RANKED_IDS = (1 << RANKED_BITS) - 1  # ids of a vocabulary with a ranked table; this one is none
    LINE = 8  # slots of the ranked table that a search goes through first: a line of the processor's cache
    NO_KEY = 0x7FFFFFFF


cdef struct Pairs:
    # Ranked vocabularies of up to MAX_RANKED_IDS ids, all that are known, have 8 bytes a slot: left, right and merged
    # id, which is the priority too; all ones: empty. Against 16 bytes, encoding without a cache is 5 % faster
    # in English and 10 % in many languages, and loading reads less. Others have the wide slots.
    const uint64_t* ranked  # or NULL
    const PairSlot* wide  # or NULL
    uint32_t shift  # 64 - log2 of the slots


cdef struct Merge:
    uint32_t priority  # NONE: no such pair
    uint32_t id  # what it makes


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
    cdef uint64_t a, b, h = n * FIBONACCI + seed
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
    return <size_t> ((<uint64_t> left << RANKED_BITS | right) * FIBONACCI >> shift)


cdef inline size_t ranked_slot(const uint64_t* slots, uint32_t shift, uint32_t left, uint32_t right) noexcept nogil:
    """Where the pair lies, or the empty slot that proves its absence."""
    cdef size_t mask = (<size_t> 1 << (64 - shift)) - 1
    cdef size_t home = pair_home(left, right, shift), i = home
    cdef uint64_t key = <uint64_t> left << RANKED_BITS | right
    while slots[i] >> RANKED_BITS != key and slots[i] != NO_PAIR:
        i = _around(i, 1)
        if i == home:
            home = i = (i + LINE) & mask
    return i


cdef inline size_t _around(size_t i, size_t n) noexcept nogil:
    """The slot n further on in the same line, whose first comes after its last."""
    return (i & ~<size_t> (LINE - 1)) | ((i + n) & (LINE - 1))


cdef inline size_t wide_slot(const PairSlot* slots, uint32_t shift, uint32_t left, uint32_t right) noexcept nogil:
    """Where the pair lies, or the empty slot (priority NONE) that proves its absence."""
    cdef size_t mask = (<size_t> 1 << (64 - shift)) - 1
    cdef size_t i = <size_t> (
        (<uint64_t> left * FIBONACCI + <uint64_t> right * 0xD6E8FEB86659FD93ULL) >> shift
    )
    while slots[i].priority != NONE and (slots[i].left != left or slots[i].right != right):
        i = (i + 1) & mask
    return i


cdef inline Merge find_wide(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    cdef size_t i = wide_slot(pairs.wide, pairs.shift, left, right)
    cdef Merge found
    found.priority = pairs.wide[i].priority
    found.id = pairs.wide[i].id
    return found


cdef inline Merge find_merge(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """The priority of a pair and the id it makes; both NONE if there is no such pair."""
    cdef uint64_t word
    cdef Merge found
    if likely(pairs.ranked != NULL):  # without the hint all of the gain is lost
        word = pairs.ranked[ranked_slot(pairs.ranked, pairs.shift, left, right)]
        # The top bit is that of an empty slot alone: spread, it makes NONE of whatever is below.
        found.id = found.priority = <uint32_t> (word & RANKED_MASK) | <uint32_t> (<int64_t> word >> 63)
        return found
    return find_wide(pairs, left, right)


cdef inline int32_t pair_key(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """For a ranked table: the rank of a pair << 6, NO_KEY if there is no such pair. Six bits are free for a place.

    The first slots are all looked at, without a branch: how far to go cannot be foretold.
    """
    cdef const uint64_t* slots = pairs.ranked
    cdef size_t i = pair_home(left, right, pairs.shift), k
    cdef uint64_t key = <uint64_t> left << RANKED_BITS | right, word = NO_PAIR, slot
    cdef bint is_known = False
    for k in range(4):
        slot = slots[_around(i, k)]
        word = slot if slot >> RANKED_BITS == key else word
        is_known |= slot == NO_PAIR
    if not likely(is_known | (word != NO_PAIR)):
        word = slots[ranked_slot(slots, pairs.shift, left, right)]
    return <int32_t> ((word & RANKED_MASK) << 6) | (<int32_t> (<int64_t> word >> 63) & NO_KEY)


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


cdef inline uint32_t find_tag(const PieceSlot* table, size_t mask, uint64_t h) noexcept nogil:
    """The id of the first token whose bytes may be those of this hash, or NONE: no token has them."""
    # Lost: four slots without a branch, as for pairs: loading a tenth slower, else no difference.
    cdef size_t i = <size_t> h & mask
    while table[i].id != NONE and table[i].tag != <uint32_t> (h >> 32):
        i = (i + 1) & mask
    return table[i].id


cdef inline bint same_bytes(const uint8_t* one, const uint8_t* other, size_t n) noexcept nogil:
    """Of n bytes, at least one. Short ones are compared without a loop, whose end could not be foretold."""
    if n > 16:
        return memcmp(one, other, n) == 0
    if n >= 8:
        return load64(one) == load64(other) and load64(one + n - 8) == load64(other + n - 8)
    if n >= 4:
        return load32(one) == load32(other) and load32(one + n - 4) == load32(other + n - 4)
    return one[0] == other[0] and one[n >> 1] == other[n >> 1] and one[n - 1] == other[n - 1]


cdef inline int table_bits(size_t n_entries) noexcept nogil:
    """log2 of the slots for n entries, between one third and two thirds full (at least a line)."""
    cdef int bits = 3
    while (<size_t> 1 << bits) * 2 < n_entries * 3 + 3:
        bits += 1
    return bits
