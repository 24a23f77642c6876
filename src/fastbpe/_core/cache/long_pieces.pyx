"""Second table of the piece cache, for pieces of more than 15 bytes, and the arena.

The arena contains the bytes and ids of these pieces, and ids of short pieces that do not fit into their entries.
The table uses open addressing with linear probing, and is at most half full.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from fastbpe._core.cache.cache_state cimport Cache, Entry, LongSlot
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES
from fastbpe._core.common.memory cimport grown, zeros

cdef enum:
    MIN_SLOTS = 1 << 8  # slots of the smallest table
    MIN_ARENA_WORDS = 1 << 12  # words of 4 bytes of the smallest arena


cdef LongSlot* find_long(const Cache* cache, uint64_t hash, const uint8_t* piece, size_t length) noexcept nogil:
    """Slot of a piece, or the empty slot that ends its probe sequence. Requires: cache.n_slots > 0."""
    cdef LongSlot* slot = slot_of(cache, hash)
    while slot.hash and (
        slot.hash != hash or slot.n_bytes != length or memcmp(cache.arena + slot.at, piece, length)
    ):
        slot += 1
        if slot == cache.slots + cache.n_slots:
            slot = cache.slots
    return slot


cdef void keep_long(
    Cache* cache, uint64_t hash, const uint8_t* piece, size_t length, const uint32_t* ids, size_t n_ids
) noexcept nogil:
    """Store a piece and its ids. Does nothing if memory is short, or if cache.skips_long is set.

    Requires: the piece is not in the table; length and n_ids are below 1 << 16.
    """
    cdef LongSlot* slot
    if cache.skips_long or not arena_reserve(cache, arena_words(length) + n_ids, 1):
        return
    slot = find_long(cache, hash, piece, length)
    slot.hash, slot.at = hash, <uint32_t> cache.arena_n
    slot.n_bytes, slot.n_ids = <uint16_t> length, <uint16_t> n_ids
    memcpy(cache.arena + cache.arena_n, piece, length)
    memcpy(cache.arena + cache.arena_n + arena_words(length), ids, n_ids * sizeof(uint32_t))
    cache.arena_n += arena_words(length) + n_ids
    cache.n_long += 1


cdef bint arena_reserve(Cache* cache, size_t n_words, size_t n_slots_more) noexcept nogil:
    """Make space for n_words in the arena and n_slots_more entries in the second table.

    The arena may take 3/8 of the cache's limit and the table 1/8. If either would need more, both are emptied, and
    the first table too, whose entries may refer to the arena. Returns False if memory is short, or if the space is
    too small even when empty.
    """
    cdef size_t n_slots = cache.n_slots, capacity = cache.arena_capacity, size
    cdef uint32_t* arena
    n_words += SHORT_BYTES  # a look-up copies this number of ids, even if a piece has fewer
    if 2 * (cache.n_long + n_slots_more) > n_slots:
        n_slots = max(2 * n_slots, <size_t> MIN_SLOTS)
    while cache.arena_n + n_words > capacity:
        capacity = max(2 * capacity, <size_t> MIN_ARENA_WORDS)
    if n_slots * sizeof(LongSlot) > cache.limit // 8 or capacity * sizeof(uint32_t) > cache.limit // 8 * 3:
        if n_words > cache.arena_capacity or 2 * n_slots_more > cache.n_slots:
            return False
        memset(cache.entries, 0, cache.n_entries * sizeof(Entry))
        if cache.n_slots:
            memset(cache.slots, 0, cache.n_slots * sizeof(LongSlot))
        cache.n_used = cache.n_long = cache.arena_n = 0
        return True
    if capacity > cache.arena_capacity:
        size = sizeof(uint32_t)
        arena = <uint32_t*> grown(cache.arena, cache.arena_n * size, cache.arena_capacity * size, capacity * size)
        if arena == NULL:
            return False
        cache.arena = arena
        cache.arena_capacity = capacity
    return n_slots == cache.n_slots or _more_slots(cache, n_slots)


cdef bint _more_slots(Cache* cache, size_t n_slots) noexcept nogil:
    """Move the entries to a table of n_slots, a larger power of two; False if out of memory."""
    cdef LongSlot* old = cache.slots
    cdef void* old_block = cache.slots_block
    cdef LongSlot* slot
    cdef void* block
    cdef size_t i, n_old = cache.n_slots
    cdef LongSlot* slots = <LongSlot*> zeros(n_slots * sizeof(LongSlot), 0, &block)
    if slots == NULL:
        return False
    cache.slots, cache.slots_block, cache.n_slots = slots, block, n_slots
    for i in range(n_old):
        if old[i].hash:
            slot = slot_of(cache, old[i].hash)
            while slot.hash:
                slot += 1
                if slot == slots + n_slots:
                    slot = slots
            slot[0] = old[i]
    free(old_block)
    return True
