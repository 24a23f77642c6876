"""First table of the piece cache, for pieces of up to 15 bytes.

This is a set-associative hash table. Each of its lines has two entries of 32 bytes, and fills one cache line. A
piece is in its home line or in one of the three lines next to it. The four lines share their probe sequences, so
entries may move among them. When all eight entries are in use, a new piece evicts one from its home line. The first
entry of a line is used before the second, so a line is full if line[1].n_ids is not 0.
"""

# Tried and dropped: a second, smaller table for pieces of up to 7 bytes: waits longer for memory than one table.
# Tried and dropped: finding the free slot of a line without a branch: slower, since it always reads the next line
#   too.
# Tried and dropped: evicting only entries that are not in their home line: no gain.
# Tried and dropped: doubling the table instead of growing it fourfold: slower with a cold cache.
# Tried and dropped: one table for two threads: fewer misses, but not faster in total.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.cache.cache_state cimport IN_ARENA, PENDING, Cache, Entry, Probe
from fastbpe._core.cache.long_pieces cimport arena_reserve
from fastbpe._core.cache.piece_keys cimport key_hash
from fastbpe._core.common.memory cimport zeros

cdef extern from "simd/entries.h" nogil:
    bint fb_entry_pack(Entry* entry, const uint32_t* ids, size_t n)

cdef enum:
    MIN_ENTRIES = 1 << 11  # entries of the smallest table, 64 KB
    GROWTH_FACTOR = 4  # growth factor of a table with fewer than LARGE_ENTRIES entries
    LARGE_ENTRIES = 1 << 17  # entries (4 MB) from which a table doubles, and is filled further before it grows
    RESERVE_FROM_ENTRIES = 1 << 15  # entries (1 MB) from which a table reserves memory to grow in place
    RESERVE_FACTOR = 16  # size of the reserve as a multiple of the table's; untouched memory costs nothing
    EVICTION_COST = 8  # cost of merging an evicted piece again, in look-ups beyond the home line


cdef inline bint is_full(const Cache* cache) noexcept nogil:
    """Tell whether the first table should grow: it is half full, or cache.cost has reached cache.n_entries.

    A table of LARGE_ENTRIES or more may be 11/16 full, since fresh memory is slow. The cost counts only in a table
    that is at least a quarter full: some frequent pieces share a line in a table of any size.
    """
    cdef size_t full = cache.n_entries // 2 if cache.n_entries < LARGE_ENTRIES else cache.n_entries // 16 * 11
    return cache.n_used >= full or (cache.cost >= cache.n_entries and cache.n_used >= cache.n_entries // 4)


cdef Entry* find_beside(const Cache* cache, const Probe* probe) noexcept nogil:
    """Entry of the piece in the lines next to its home line, or NULL. A line that is not full ends the search."""
    cdef Entry* line
    cdef Entry* entry = NULL
    cdef int i
    for i in range(1, PROBED_LINES):
        line = line_beside(cache, probe.line, i)
        entry = entry_in_line(line, probe)
        if entry != NULL or not line[1].n_ids:
            break
    return entry


cdef void keep_short(Cache* cache, const Probe* probe, const uint32_t* ids, size_t n_ids) noexcept nogil:
    """Store a piece and its ids. An entry that already exists stays, unless it is PENDING.

    Does nothing if the ids need the arena and memory is short. Requires: n_ids <= SHORT_BYTES.
    """
    cdef Entry kept
    cdef Entry* entry
    cdef uint32_t at
    kept.low, kept.high = probe.low, probe.high
    if not fb_entry_pack(&kept, ids, n_ids):
        if not arena_reserve(cache, n_ids, 0):
            return  # a PENDING entry stays, and becomes void with its batch
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
    """Put an entry into the first free place of its probe sequence, or evict one from its home line.

    Requires: the key is not in the table. Returns the address of the entry in the table.
    """
    cdef Entry* line = home
    cdef int i = 1
    while i < PROBED_LINES and line[1].n_ids:
        line = line_beside(cache, home, i)
        i += 1
    if line[1].n_ids:
        cache.cost += EVICTION_COST
        line = &home[victim_place(cache)]
    else:
        cache.n_used += 1
        line = &line[line[0].n_ids != 0]
    line[0] = kept[0]
    return line


cdef int grow_entries(Cache* cache) except -1 nogil:
    """Enlarge the first table, if the limit and memory allow it.

    The first table may take half of the cache's limit.
    Ensures: there is a table afterwards. Raises MemoryError if there is no table yet and no memory for one.
    """
    cdef size_t n_old = cache.n_entries, n_max = cache.limit // 2 // sizeof(Entry)
    cdef size_t n_reserved, n_new = max(
        (GROWTH_FACTOR if n_old < LARGE_ENTRIES else 2) * n_old, <size_t> MIN_ENTRIES
    )
    cdef Entry* old = cache.entries
    cdef void* old_block = cache.entries_block
    cdef void* block
    cdef Entry* entries
    if n_new > n_max:  # never the first table: each limit allows MIN_ENTRIES (see MIN_CACHE_BYTES)
        n_new = 2 * n_old
    if n_new > n_max:
        return 0
    if n_new <= cache.n_reserved:
        memset(&old[n_old], 0, (n_new - n_old) * sizeof(Entry))
        _spread(cache, old, n_old, n_new)
        return 0
    n_reserved = n_new if n_new < RESERVE_FROM_ENTRIES else min(RESERVE_FACTOR * n_new, n_max)
    entries = <Entry*> zeros(n_new * sizeof(Entry), n_reserved * sizeof(Entry), &block)
    if entries == NULL:
        n_reserved = n_new
        entries = <Entry*> zeros(n_new * sizeof(Entry), 0, &block)
    if entries == NULL:
        if n_old:
            return 0
        with gil:
            raise MemoryError(f"no memory for a piece cache of {n_new * sizeof(Entry)} bytes")
    cache.entries, cache.entries_block, cache.n_reserved = entries, block, n_reserved
    _spread(cache, old, n_old, n_new)
    free(old_block)
    return 0


cdef void _spread(Cache* cache, Entry* old, size_t n_old, size_t n_new) noexcept nogil:
    """Move the entries of an old table of n_old entries into the cache's table, which now has n_new.

    The tables may start at the same address; then the entries after the old ones are zeros. Growth in place works
    because the low bits of a hash are the home line. The entries of PROBED_LINES old lines stay in these lines,
    or move to new lines that get entries from no other line. So the function copies only PROBED_LINES lines aside
    at a time.
    """
    cdef Entry[2 * PROBED_LINES] moved
    cdef size_t i, k
    cache.n_entries = n_new
    cache.n_used = cache.cost = 0
    cache.line_mask = (n_new * sizeof(Entry) - 1) & ~<uint64_t> 63
    for i in range(n_old // (2 * PROBED_LINES)):
        memcpy(moved, &old[2 * PROBED_LINES * i], sizeof(moved))
        memset(&old[2 * PROBED_LINES * i], 0, sizeof(moved))
        for k in range(2 * PROBED_LINES):
            if moved[k].n_ids:
                put_entry(cache, home_line(cache, key_hash(moved[k].low, moved[k].high, cache.seed)), &moved[k])
