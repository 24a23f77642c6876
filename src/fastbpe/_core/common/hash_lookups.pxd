"""Look-ups in the hash tables of a vocabulary: see `hash_tables`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from fastbpe._core.common.hash_tables cimport (
    GOLDEN_RATIO, LINE, MAX_RUN, NO_KEY, NO_PAIR, NONE, RANKED_BITS, RANKED_MASK, Merge, Pairs, PairSlot, PieceSlot
)
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.memory cimport likely


cdef inline size_t pair_home(uint32_t left, uint32_t right, uint32_t shift) noexcept nogil:
    """Home slot of a pair in the ranked table. Callers prefetch its cache line."""
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
    """Tell whether a slot is so far from its home slot that the run of full slots between them exceeds MAX_RUN.

    Counts whole lines, from the start of the home line to the end of the slot's line: fewer than 2 * LINE slots too many.
    """
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
    cdef bint is_absent = False
    for k in range(4):
        slot = slots[_around(i, k)]
        word = slot if slot >> RANKED_BITS == key else word
        is_absent |= slot == NO_PAIR  # an empty slot ends the probe sequence
    if not likely(is_absent | (word != NO_PAIR)):
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
    """Id of the first token in the piece table with the tag of hash h; NONE if no token has this tag.

    The caller must compare the token's bytes: different texts can have the same tag.
    """
    # Tried and dropped: comparing four slots without a branch, as pair_key() does: loading is slower, no gain
    #   elsewhere.
    cdef size_t i = <size_t> h & mask
    while table[i].id != NONE and table[i].tag != <uint32_t> (h >> 32):
        i = (i + 1) & mask
    return table[i].id
