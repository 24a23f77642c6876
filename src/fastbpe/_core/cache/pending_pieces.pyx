"""New pieces are learned many at a time: until then there are holes among the ids where theirs will be.

Merging waits for memory, less so the more pieces take turns, and of a document of 2 KB ten are new in a first pass.
So they are collected, over documents too, until there are as many as can be merged together.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe._core.cache.cache_state cimport MOST_HOLES, PENDING, Cache, Entry, Hole, Probe
from fastbpe._core.cache.long_pieces cimport find_long, keep_long, long_hash
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, key_hash
from fastbpe._core.cache.short_pieces cimport home_line, keep_short, put_entry
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.merge.merge_batch cimport MOST_PIECES, Merging, merge_side_by_side
from fastbpe._core.common.hash_tables cimport NONE, find_piece, find_tag, hash_bytes, same_bytes
from fastbpe._core.merge.vocabulary cimport token_start

cdef extern from "simd/entries.h" nogil:
    bint fb_entry_pack(Entry* entry, const uint32_t* ids, size_t n)

cdef enum:
    BESIDES = 8  # ids that may be written behind the last one


cdef int await_short(
    Cache* cache, const Tables* tables, Entry* entry, const Probe* probe, size_t length, Ids* out
) except -1 nogil:
    """Leave a hole for a new piece that has a key. entry: the one that says that it is waited for, or NULL.

    What entries say of newcomers before these is void: where such have moved, a search may end before them.
    """
    cdef Entry pending
    cdef uint64_t awaited = ~<uint64_t> 0
    cdef size_t number
    if entry != NULL:
        memcpy(&awaited, entry.ids, sizeof(awaited))
    if awaited // MOST_PIECES == cache.n_settled:
        return _leave_hole(cache, tables, awaited % MOST_PIECES, out)
    number = _meet(cache, <const uint8_t*> probe, length, SHORT_BYTES + 1)
    awaited = cache.n_settled * MOST_PIECES + number
    pending.low, pending.high = probe.low, probe.high
    memcpy(pending.ids, &awaited, sizeof(awaited))
    pending.n_ids = PENDING
    if entry == NULL:
        entry = put_entry(cache, probe.line, &pending)
    else:
        entry[0] = pending
    cache.awaited_at[number] = entry - cache.entries
    return _leave_hole(cache, tables, number, out)


cdef int await_long(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Ids* out
) except -1 nogil:
    """The same for one that is too long for a key; met again meanwhile, it is one more."""
    return _leave_hole(cache, tables, _meet(cache, piece, length, length), out)


cdef inline size_t _meet(Cache* cache, const uint8_t* piece, size_t length, size_t n_kept) noexcept nogil:
    """Add a newcomer of which so many bytes are to be kept; its number."""
    cdef Merging* newcomer = &cache.newcomers[cache.n_newcomers]
    memcpy(newcomer.bytes, piece, n_kept)
    newcomer.piece, newcomer.n_bytes = newcomer.bytes, <uint32_t> length
    cache.n_newcomers += 1
    return cache.n_newcomers - 1


cdef inline int _leave_hole(Cache* cache, const Tables* tables, size_t newcomer, Ids* out) except -1 nogil:
    """There is room for one more newcomer afterwards, and for one more hole."""
    cache.holes[cache.n_holes] = Hole(out.n, NULL, newcomer)
    cache.n_holes += 1
    if cache.n_newcomers == MOST_PIECES or cache.n_holes == MOST_HOLES:
        fill_holes(cache, tables, out)
    return 0


cdef int leave_mark(Cache* cache, const Tables* tables, size_t* mark, Ids* out) except -1 nogil:
    """Store how many ids there are, sooner or later."""
    mark[0] = out.n
    if cache.n_holes:
        cache.holes[cache.n_holes] = Hole(out.n, mark, 0)
        cache.n_holes += 1
        if cache.n_holes == MOST_HOLES:
            fill_holes(cache, tables, out)
    return 0


cdef int fill_holes(Cache* cache, const Tables* tables, Ids* out) except -1 nogil:
    """Learn what the newcomers become, and put their ids into the holes, of which there are some."""
    cdef Merging* newcomer
    cdef Hole* hole
    cdef uint32_t* to
    cdef const uint32_t* ids
    cdef size_t i, n, first, at = 0, n_more = 0
    _learn(cache, tables)
    for i in range(cache.n_holes):
        if cache.holes[i].mark == NULL:
            n_more += cache.newcomers[cache.holes[i].newcomer].n_ids
    first = cache.holes[0].place
    n = out.n - first
    cache.aside.n = 0
    ids_reserve(&cache.aside, n + BESIDES)
    ids_reserve(out, n_more + BESIDES)
    ids = cache.aside.items
    memcpy(cache.aside.items, out.items + first, n * sizeof(uint32_t))
    to = out.items + first
    for i in range(cache.n_holes):
        hole = &cache.holes[i]
        to = _copy(to, ids + at, hole.place - first - at)
        at = hole.place - first
        if hole.mark != NULL:
            hole.mark[0] = to - out.items
            continue
        newcomer = &cache.newcomers[hole.newcomer]
        to = _copy(to, newcomer.ids, newcomer.n_ids)
    memcpy(to, ids + at, (n - at) * sizeof(uint32_t))
    out.n += n_more
    cache.n_holes = cache.n_newcomers = 0
    return 0


cdef inline uint32_t* _copy(uint32_t* to, const uint32_t* ids, size_t n) noexcept nogil:
    """Behind the last one: for they are few, up to seven more are written."""
    cdef size_t i
    for i in range(0, n, 8):
        memcpy(to + i, ids + i, 8 * sizeof(uint32_t))
    return to + n


cdef void give_up(Cache* cache, const Tables* tables) noexcept nogil:
    """Forget the holes, for nobody wants the ids; no piece is waited for any more."""
    _learn(cache, tables)
    cache.n_holes = cache.n_newcomers = 0


cdef void _learn(Cache* cache, const Tables* tables) noexcept nogil:
    """Find out what the newcomers become, and remember it."""
    cdef Merging* newcomers = cache.newcomers
    cdef Merging* others[MOST_PIECES]
    cdef size_t i, n = cache.n_newcomers, n_others = 0
    for i in range(n):
        newcomers[i].n_ids = 0
    if tables.whole_piece_first:
        _find_tokens(tables, newcomers, n)
    for i in range(n):
        others[n_others] = &newcomers[i]
        n_others += newcomers[i].n_ids == 0
    merge_side_by_side(tables, others, n_others)
    for i in range(n):
        _keep(cache, i)
    cache.n_settled += 1


cdef void _find_tokens(const Tables* tables, Merging* newcomers, size_t n) noexcept nogil:
    """Give those that are tokens their one id, and the others none.

    Slots, ends and bytes lie far apart: all are asked for before any is read.
    """
    cdef Merging* m
    cdef uint64_t[MOST_PIECES] hashes
    cdef uint16_t[MOST_PIECES] alike
    cdef size_t i, k, n_alike = 0
    cdef uint32_t token
    for i in range(n):
        hashes[i] = hash_bytes(newcomers[i].piece, newcomers[i].n_bytes, 0)
        prefetch(&tables.pieces[hashes[i] & tables.piece_mask])
    for i in range(n):
        token = find_tag(tables.pieces, tables.piece_mask, hashes[i])
        newcomers[i].ids[0] = token
        alike[n_alike] = <uint16_t> i
        n_alike += token != NONE
        prefetch(&tables.token_ends[token if token != NONE else 0])
    for k in range(n_alike):
        prefetch(tables.token_bytes + tables.token_ends[newcomers[alike[k]].ids[0]] - 1)
    for k in range(n_alike):
        m = &newcomers[alike[k]]
        if not _is_token(tables, m.ids[0], m.piece, m.n_bytes):  # another of the same tag
            m.ids[0] = find_piece(
                tables.pieces, tables.piece_mask, tables.token_bytes, tables.token_ends, m.piece, m.n_bytes
            )
        m.n_ids = m.ids[0] != NONE


cdef inline bint _is_token(const Tables* tables, uint32_t token, const uint8_t* piece, size_t n) noexcept nogil:
    """Whether a token is these bytes."""
    cdef size_t start = token_start(tables, token)
    return tables.token_ends[token] - start == n and same_bytes(tables.token_bytes + start, piece, n)


cdef void _keep(Cache* cache, size_t newcomer) noexcept nogil:
    """Remember what a new piece became that was waited for."""
    cdef Merging* m = &cache.newcomers[newcomer]
    cdef Entry* entry
    cdef Probe probe
    cdef uint64_t hash
    if m.n_bytes <= SHORT_BYTES:
        memcpy(&probe, m.bytes, SHORT_BYTES + 1)
        entry = &cache.entries[cache.awaited_at[newcomer]]
        if entry.low == probe.low and entry.high == probe.high and entry.n_ids == PENDING:
            if fb_entry_pack(entry, m.ids, m.n_ids):
                return
        probe.line = home_line(cache, key_hash(probe.low, probe.high, cache.seed))
        keep_short(cache, &probe, m.ids, m.n_ids)
        return
    hash = long_hash(cache, m.bytes, m.n_bytes)
    if not cache.n_long or not find_long(cache, hash, m.bytes, m.n_bytes).hash:
        keep_long(cache, hash, m.bytes, m.n_bytes, m.ids, m.n_ids)
