"""Hash functions, and the two hash tables of a vocabulary: pieces by their bytes, and pairs of tokens.

Both use open addressing with linear probing. The number of slots is a power of two and at most two thirds of them
are full, so a probe sequence always ends at an empty slot. The ranked table is probed one cache line at a time:
all eight slots of the home line, starting at the home slot and wrapping around, then the slots of the next line.

`.fbpe` files contain these tables byte for byte: if the layout or a hash changes, rename the section of the file.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.memory cimport likely

cdef extern from *:
    # Macros, not a Cython enum: an enum is an int, and UINT32_MAX would turn into -1.
    """
    #define FASTBPE_NONE UINT32_MAX
    #define FASTBPE_NO_PAIR UINT64_MAX
    #define FASTBPE_RANKED_MASK (((uint64_t)1 << 21) - 1)
    """
    const uint32_t NONE "FASTBPE_NONE"  # no id, no priority, or an empty slot
    const uint64_t NO_PAIR "FASTBPE_NO_PAIR"  # an empty slot of the ranked table
    const uint64_t RANKED_MASK "FASTBPE_RANKED_MASK"  # bits of the merged id in a slot of the ranked table

cdef extern from "simd/hashing.h" nogil:
    const uint64_t GOLDEN_RATIO "FB_GOLDEN_RATIO"  # multiplier of Fibonacci hashing: top bits give the slot


cdef struct PieceSlot:
    # Slot of the piece table, 8 bytes: finds a token by its bytes.
    uint32_t tag  # high half of the hash: if it differs, so do the pieces, and their bytes need not be read
    uint32_t id  # NONE: the slot is empty


cdef struct PairSlot:
    # Slot of the wide pair table, 16 bytes.
    uint32_t left
    uint32_t right
    uint32_t priority  # NONE: the slot is empty
    uint32_t id  # merged id


cdef enum:
    RANKED_BITS = 21  # bits of each of the three ids in a slot of the ranked table
    MAX_RANKED_IDS = (1 << RANKED_BITS) - 1  # limit on ids for a ranked table; all ones is not an id
    LINE = 8  # slots of the ranked table in a cache line of 64 bytes
    MAX_RUN = 4096  # longest run of full slots; Vocabulary refuses a longer one: it was made to collide
    NO_KEY = 0x7FFFFFFF  # key of a pair that is not in the ranked table; greater than any other key


cdef struct Pairs:
    # The pair table: ranked or wide. Exactly one of the two pointers is not NULL.
    # Ranked: 8 bytes per slot, left << 42 | right << 21 | merged id; the merged id is the rank and thus also the
    # priority; all ones: empty. For vocabularies of ranks with up to MAX_RANKED_IDS ids, which includes all
    # published ones. Faster than the wide table, because more of it fits into the processor's caches.
    # Wide: 16 bytes per slot, for all other vocabularies.
    const uint64_t* ranked
    const PairSlot* wide
    uint32_t shift  # 64 - log2 of the number of slots


cdef struct Merge:
    # The result of merging a pair of ids.
    uint32_t priority  # the lowest is merged first; NONE: the pair is not in the table
    uint32_t id  # merged id; NONE: the pair is not in the table


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
    before the first byte, so nobody can choose bytes that collide without knowing it. Tables that are stored in
    files use seed 0.
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


cdef inline size_t pair_home(uint32_t left, uint32_t right, uint32_t shift) noexcept nogil:
    """Home slot of a pair in the ranked table. Prefetch its line."""
    return <size_t> ((<uint64_t> left << RANKED_BITS | right) * GOLDEN_RATIO >> shift)


cdef inline size_t ranked_slot(const uint64_t* slots, uint32_t shift, uint32_t left, uint32_t right) noexcept nogil:
    """Slot of the pair in the ranked table, or the empty slot that ends its probe sequence."""
    cdef size_t mask = (<size_t> 1 << (64 - shift)) - 1
    cdef size_t home = pair_home(left, right, shift), i = home
    cdef uint64_t key = <uint64_t> left << RANKED_BITS | right
    while slots[i] >> RANKED_BITS != key and slots[i] != NO_PAIR:
        i = _around(i, 1)
        if i == home:
            home = i = (i + LINE) & mask
    return i


cdef inline bint is_far(size_t slot, size_t home, size_t mask) noexcept nogil:
    """Tell whether a slot is so far from its home slot that the run of full slots between them exceeds MAX_RUN."""
    return ((slot | (LINE - 1)) - (home & ~<size_t> (LINE - 1))) & mask > MAX_RUN + LINE


cdef inline size_t _around(size_t i, size_t n) noexcept nogil:
    """Slot number i + n, wrapped around within the line of slot i."""
    return (i & ~<size_t> (LINE - 1)) | ((i + n) & (LINE - 1))


cdef inline size_t wide_home(uint32_t left, uint32_t right, uint32_t shift) noexcept nogil:
    """Home slot of a pair in the wide table."""
    return <size_t> ((<uint64_t> left * GOLDEN_RATIO + <uint64_t> right * 0xD6E8FEB86659FD93ULL) >> shift)


cdef inline size_t wide_slot(const PairSlot* slots, uint32_t shift, uint32_t left, uint32_t right) noexcept nogil:
    """Slot of the pair in the wide table, or the empty slot (priority NONE) that ends its probe sequence."""
    cdef size_t mask = (<size_t> 1 << (64 - shift)) - 1
    cdef size_t i = wide_home(left, right, shift)
    while slots[i].priority != NONE and (slots[i].left != left or slots[i].right != right):
        i = (i + 1) & mask
    return i


cdef inline Merge find_wide(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """Look a pair up in the wide table. Requires: pairs.wide != NULL."""
    cdef size_t i = wide_slot(pairs.wide, pairs.shift, left, right)
    cdef Merge found
    found.priority = pairs.wide[i].priority
    found.id = pairs.wide[i].id
    return found


cdef inline Merge find_merge(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """Look a pair up in either table: its priority and merged id, both NONE if it is not in the table."""
    cdef uint64_t word
    cdef Merge found
    if likely(pairs.ranked != NULL):  # measured: without the hint the ranked table gains nothing
        word = pairs.ranked[ranked_slot(pairs.ranked, pairs.shift, left, right)]
        # Only an empty slot has the top bit set. An arithmetic shift spreads that bit over 32 bits, which turns
        # both results into NONE.
        found.id = found.priority = <uint32_t> (word & RANKED_MASK) | <uint32_t> (<int64_t> word >> 63)
        return found
    return find_wide(pairs, left, right)


cdef inline int32_t pair_key(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """Look a pair up in the ranked table: its rank << 6, or NO_KEY. The low 6 bits are for the caller.

    Requires: pairs.ranked != NULL. Compares the first four slots without a branch, because the length of a probe
        sequence cannot be predicted. The loop of ranked_slot() runs only if the four do not decide.
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
    const PieceSlot* table, size_t mask, const uint8_t* bytes_, const uint32_t* ends, const uint8_t* p, size_t n
) noexcept nogil:
    """Id of the token whose bytes are p[:n], or NONE.

    table: piece table of mask + 1 slots.
    bytes_: bytes of all tokens, end to end.
    ends: end of each token in bytes_.
    """
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
    """Id of the first token in the piece table with the tag of hash h; NONE if no token has this hash.

    The caller must compare the token's bytes: different texts can have the same tag.
    """
    # Tried and dropped: comparing four slots without a branch, as pair_key() does: loading is slower, no gain
    #   elsewhere.
    cdef size_t i = <size_t> h & mask
    while table[i].id != NONE and table[i].tag != <uint32_t> (h >> 32):
        i = (i + 1) & mask
    return table[i].id


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
    """log2 of the number of slots for n entries: at least 8 slots, and at most two thirds of them full."""
    cdef int bits = 3
    while (<size_t> 1 << bits) * 2 < n_entries * 3 + 3:
        bits += 1
    return bits
