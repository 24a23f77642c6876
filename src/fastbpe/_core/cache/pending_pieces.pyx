"""New pieces are learned many at a time: until then there are gaps among the ids where theirs will be.

Merging waits for memory, less so the more pieces take turns, and of a document of 2 KB ten are new in a first pass.
So they are collected, over documents too, until there are as many as can be merged together.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe._core.cache.cache_state cimport MAX_GAPS, PENDING, Cache, Entry, Gap, Probe
from fastbpe._core.cache.long_pieces cimport find_long, keep_long, long_hash
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, key_hash
from fastbpe._core.cache.short_pieces cimport home_line, keep_short, put_entry
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.merge.merge_batch cimport MAX_PIECES, Merging, merge_side_by_side
from fastbpe._core.common.hash_tables cimport NONE, find_piece, find_tag, hash_bytes, same_bytes
from fastbpe._core.merge.vocabulary cimport token_start

cdef extern from "simd/entries.h" nogil:
    bint fb_entry_pack(Entry* entry, const uint32_t* ids, size_t n)

cdef enum:
    COPY_SLACK_IDS = 8  # ids that may be written behind the last one


cdef int defer_short(
    Cache* cache, const Tables* tables, Entry* entry, const Probe* probe, size_t length, Ids* out
) except -1 nogil:
    """Leave a gap for a new piece that has a key. entry: the one that says that it is waited for, or NULL.

    What entries say of pending before these is void: where such have moved, a search may end before them.
    """
    cdef Entry pending
    cdef uint64_t awaited = ~<uint64_t> 0
    cdef size_t number
    if entry != NULL:
        memcpy(&awaited, entry.ids, sizeof(awaited))
    if awaited // MAX_PIECES == cache.n_settled:
        return _leave_gap(cache, tables, awaited % MAX_PIECES, out)
    number = _meet(cache, <const uint8_t*> probe, length, SHORT_BYTES + 1)
    awaited = cache.n_settled * MAX_PIECES + number
    pending.low, pending.high = probe.low, probe.high
    memcpy(pending.ids, &awaited, sizeof(awaited))
    pending.n_ids = PENDING
    if entry == NULL:
        entry = put_entry(cache, probe.line, &pending)
    else:
        entry[0] = pending
    cache.pending_entry[number] = entry - cache.entries
    return _leave_gap(cache, tables, number, out)


cdef int defer_long(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Ids* out
) except -1 nogil:
    """The same for one that is too long for a key; met again meanwhile, it is one more."""
    return _leave_gap(cache, tables, _meet(cache, piece, length, length), out)


cdef inline size_t _meet(Cache* cache, const uint8_t* piece, size_t length, size_t n_kept) noexcept nogil:
    """Add a pending_piece of which so many bytes are to be kept; its number."""
    cdef Merging* pending_piece = &cache.pending[cache.n_pending]
    memcpy(pending_piece.bytes, piece, n_kept)
    pending_piece.piece, pending_piece.n_bytes = pending_piece.bytes, <uint32_t> length
    cache.n_pending += 1
    return cache.n_pending - 1


cdef inline int _leave_gap(Cache* cache, const Tables* tables, size_t pending_piece, Ids* out) except -1 nogil:
    """There is room for one more pending_piece afterwards, and for one more gap."""
    cache.gaps[cache.n_gaps] = Gap(out.n, NULL, pending_piece)
    cache.n_gaps += 1
    if cache.n_pending == MAX_PIECES or cache.n_gaps == MAX_GAPS:
        fill_gaps(cache, tables, out)
    return 0


cdef int note_count(Cache* cache, const Tables* tables, size_t* mark, Ids* out) except -1 nogil:
    """Store how many ids there are, sooner or later."""
    mark[0] = out.n
    if cache.n_gaps:
        cache.gaps[cache.n_gaps] = Gap(out.n, mark, 0)
        cache.n_gaps += 1
        if cache.n_gaps == MAX_GAPS:
            fill_gaps(cache, tables, out)
    return 0


cdef int fill_gaps(Cache* cache, const Tables* tables, Ids* out) except -1 nogil:
    """Learn what the pending become, and put their ids into the gaps, of which there are some."""
    cdef Merging* pending_piece
    cdef Gap* gap
    cdef uint32_t* to
    cdef const uint32_t* ids
    cdef size_t i, n, first, at = 0, n_more = 0
    _learn(cache, tables)
    for i in range(cache.n_gaps):
        if cache.gaps[i].mark == NULL:
            n_more += cache.pending[cache.gaps[i].pending_piece].n_ids
    first = cache.gaps[0].place
    n = out.n - first
    cache.aside.n = 0
    ids_reserve(&cache.aside, n + COPY_SLACK_IDS)
    ids_reserve(out, n_more + COPY_SLACK_IDS)
    ids = cache.aside.items
    memcpy(cache.aside.items, out.items + first, n * sizeof(uint32_t))
    to = out.items + first
    for i in range(cache.n_gaps):
        gap = &cache.gaps[i]
        to = _copy(to, ids + at, gap.place - first - at)
        at = gap.place - first
        if gap.mark != NULL:
            gap.mark[0] = to - out.items
            continue
        pending_piece = &cache.pending[gap.pending_piece]
        to = _copy(to, pending_piece.ids, pending_piece.n_ids)
    memcpy(to, ids + at, (n - at) * sizeof(uint32_t))
    out.n += n_more
    cache.n_gaps = cache.n_pending = 0
    return 0


cdef inline uint32_t* _copy(uint32_t* to, const uint32_t* ids, size_t n) noexcept nogil:
    """Behind the last one: for they are few, up to seven more are written."""
    cdef size_t i
    for i in range(0, n, 8):
        memcpy(to + i, ids + i, 8 * sizeof(uint32_t))
    return to + n


cdef void give_up(Cache* cache, const Tables* tables) noexcept nogil:
    """Forget the gaps, for nobody wants the ids; no piece is waited for any more."""
    _learn(cache, tables)
    cache.n_gaps = cache.n_pending = 0


cdef void _learn(Cache* cache, const Tables* tables) noexcept nogil:
    """Find out what the pending become, and remember it."""
    cdef Merging* pending = cache.pending
    cdef Merging* others[MAX_PIECES]
    cdef size_t i, n = cache.n_pending, n_others = 0
    for i in range(n):
        pending[i].n_ids = 0
    if tables.whole_piece_first:
        _find_tokens(tables, pending, n)
    for i in range(n):
        others[n_others] = &pending[i]
        n_others += pending[i].n_ids == 0
    merge_side_by_side(tables, others, n_others)
    for i in range(n):
        _keep(cache, i)
    cache.n_settled += 1


cdef void _find_tokens(const Tables* tables, Merging* pending, size_t n) noexcept nogil:
    """Give those that are tokens their one id, and the others none.

    Slots, ends and bytes lie far apart: all are asked for before any is read.
    """
    cdef Merging* m
    cdef uint64_t[MAX_PIECES] hashes
    cdef uint16_t[MAX_PIECES] alike
    cdef size_t i, k, n_alike = 0
    cdef uint32_t token
    for i in range(n):
        hashes[i] = hash_bytes(pending[i].piece, pending[i].n_bytes, 0)
        prefetch(&tables.pieces[hashes[i] & tables.piece_mask])
    for i in range(n):
        token = find_tag(tables.pieces, tables.piece_mask, hashes[i])
        pending[i].ids[0] = token
        alike[n_alike] = <uint16_t> i
        n_alike += token != NONE
        prefetch(&tables.token_ends[token if token != NONE else 0])
    for k in range(n_alike):
        prefetch(tables.token_bytes + tables.token_ends[pending[alike[k]].ids[0]] - 1)
    for k in range(n_alike):
        m = &pending[alike[k]]
        if not _is_token(tables, m.ids[0], m.piece, m.n_bytes):  # another of the same tag
            m.ids[0] = find_piece(
                tables.pieces, tables.piece_mask, tables.token_bytes, tables.token_ends, m.piece, m.n_bytes
            )
        m.n_ids = m.ids[0] != NONE


cdef inline bint _is_token(const Tables* tables, uint32_t token, const uint8_t* piece, size_t n) noexcept nogil:
    """Whether a token is these bytes."""
    cdef size_t start = token_start(tables, token)
    return tables.token_ends[token] - start == n and same_bytes(tables.token_bytes + start, piece, n)


cdef void _keep(Cache* cache, size_t pending_piece) noexcept nogil:
    """Remember what a new piece became that was waited for."""
    cdef Merging* m = &cache.pending[pending_piece]
    cdef Entry* entry
    cdef Probe probe
    cdef uint64_t hash
    if m.n_bytes <= SHORT_BYTES:
        memcpy(&probe, m.bytes, SHORT_BYTES + 1)
        entry = &cache.entries[cache.pending_entry[pending_piece]]
        if entry.low == probe.low and entry.high == probe.high and entry.n_ids == PENDING:
            if fb_entry_pack(entry, m.ids, m.n_ids):
                return
        probe.line = home_line(cache, key_hash(probe.low, probe.high, cache.seed))
        keep_short(cache, &probe, m.ids, m.n_ids)
        return
    hash = long_hash(cache, m.bytes, m.n_bytes)
    if not cache.n_long or not find_long(cache, hash, m.bytes, m.n_bytes).hash:
        keep_long(cache, hash, m.bytes, m.n_bytes, m.ids, m.n_ids)
