"""The first table of the piece cache, for pieces of up to 15 bytes."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.cache.cache_state cimport IN_ARENA, PENDING, Cache, Entry, Probe
from fastbpe._core.cache.long_pieces cimport arena_room
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, key_hash
from fastbpe._core.common.memory cimport lay_out, zeros

cdef extern from "simd/entries.h" nogil:
    bint fb_entry_pack(Entry* entry, const uint32_t* ids, size_t n)

cdef enum:
    FIRST_ENTRIES = 1 << 11  # 64 KB
    GROWTH = 4
    FAST_ENTRIES = 1 << 17  # from here on the table grows twofold: fresh memory is dear
    ROOMY_ENTRIES = 1 << 15  # from here on it has room to grow where it is, which costs nothing until it is touched
    ROOM = 16
    PUSHED = 8  # times what it costs to find a piece beside its home line, some 20 ns: to learn it again


cdef inline bint is_full(const Cache* cache) noexcept nogil:
    """Whether the first table should grow: when it is half full, or its size has cost as much as growing does.

    A large table is filled further, for fresh memory is dear: it takes a tenth off a first pass over 16 MB. One that is
    three quarters empty stays, whatever it costs: of pieces that are met often some always share a line.
    """
    cdef size_t most = cache.n_entries // 2 if cache.n_entries < FAST_ENTRIES else cache.n_entries // 16 * 11
    return cache.n_used >= most or (cache.cost >= cache.n_entries and cache.n_used >= cache.n_entries // 4)


cdef Entry* find_beside(const Cache* cache, const Probe* probe) noexcept nogil:
    cdef Entry* line
    cdef Entry* entry = NULL
    cdef int i
    for i in range(1, LINES):
        line = line_beside(cache, probe.line, i)
        entry = find_in_line(line, probe)
        if entry != NULL or not line[1].n_ids:
            break
    return entry


cdef void keep_short(Cache* cache, const Probe* probe, const uint32_t* ids, size_t n_ids) noexcept nogil:
    """Remember what a piece became, unless it is there already."""
    cdef Entry kept
    cdef Entry* entry
    cdef uint32_t at
    kept.low, kept.high = probe.low, probe.high
    if not fb_entry_pack(&kept, ids, n_ids):
        if not arena_room(cache, SHORT_BYTES, 0):
            return  # a pending one is new again next time
        at = <uint32_t> cache.arena_n
        memcpy(kept.ids, &at, sizeof(at))
        kept.n_ids = <uint8_t> n_ids | IN_ARENA
        memcpy(cache.arena + cache.arena_n, ids, n_ids * sizeof(uint32_t))
        cache.arena_n += n_ids
    entry = find_short(cache, probe)
    if entry == NULL:
        put_entry(cache, probe.line, &kept)
    elif entry.n_ids == PENDING:
        entry[0] = kept


cdef Entry* put_entry(Cache* cache, Entry* home, const Entry* kept) noexcept nogil:
    """Put an entry where it is looked for first: the first free place, or else that of another; which place."""
    cdef Entry* line = home
    cdef int i = 1
    while i < LINES and line[1].n_ids:
        line = line_beside(cache, home, i)
        i += 1
    if line[1].n_ids:
        cache.cost += PUSHED
        line = &home[either_place(cache)]
    else:
        cache.n_used += 1
        line = &line[line[0].n_ids != 0]
    line[0] = kept[0]
    return line


cdef int grow_entries(Cache* cache) except -1 nogil:
    """Make the first table larger, if the limit and the memory allow it; there is always a table afterwards."""
    cdef size_t n_old = cache.n_entries, most = cache.limit // 2 // sizeof(Entry)
    cdef size_t n_new = max((GROWTH if n_old < FAST_ENTRIES else 2) * n_old, <size_t> FIRST_ENTRIES), n_room
    cdef Entry* old = cache.entries
    cdef void* old_block = cache.entries_block
    cdef void* block
    cdef Entry* entries
    while n_new > 2 * n_old and n_new > FIRST_ENTRIES and n_new > most:
        n_new >>= 1
    if n_old and (n_new <= n_old or n_new > most):
        return 0
    if n_new <= cache.n_room:
        lay_out(&old[n_old], (n_new - n_old) * sizeof(Entry))
        memset(&old[n_old], 0, (n_new - n_old) * sizeof(Entry))
        _spread(cache, old, n_old, n_new)
        return 0
    n_room = n_new if n_new < ROOMY_ENTRIES else min(ROOM * n_new, most)
    entries = <Entry*> zeros(n_new * sizeof(Entry), n_room * sizeof(Entry), &block)
    if entries == NULL:
        n_room = n_new
        entries = <Entry*> zeros(n_new * sizeof(Entry), 0, &block)
    if entries == NULL:
        if n_old:
            return 0
        with gil:
            raise MemoryError(f"no memory for a piece cache of {n_new * sizeof(Entry)} bytes")
    cache.entries, cache.entries_block, cache.n_room = entries, block, n_room
    _spread(cache, old, n_old, n_new)
    free(old_block)
    return 0


cdef void _spread(Cache* cache, Entry* old, size_t n_old, size_t n_new) noexcept nogil:
    """Put a table's entries where they belong in one of n_new, which may be the same memory, zeros behind the old one.

    The entries of LINES stay in these or go to as many new ones, each of which take them from those alone.
    """
    cdef Entry[2 * LINES] together
    cdef size_t i, k
    cache.n_entries = n_new
    cache.n_used = cache.cost = 0
    cache.line_mask = (n_new * sizeof(Entry) - 1) & ~<uint64_t> 63
    for i in range(n_old // (2 * LINES)):
        memcpy(together, &old[2 * LINES * i], sizeof(together))
        memset(&old[2 * LINES * i], 0, sizeof(together))
        for k in range(2 * LINES):
            if together[k].n_ids:
                put_entry(cache, home_line(cache, key_hash(together[k].low, together[k].high, cache.seed)), &together[k])
