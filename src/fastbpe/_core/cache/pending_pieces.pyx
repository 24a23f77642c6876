"""Batches of cache misses: merge many new pieces, each of up to MAX_PIECE_BYTES bytes, at once.

Merging one piece spends most of its time waiting for slots of the pair table, which are spread over megabytes;
merging a batch of pieces overlaps these waits (see merge_batch). So a miss is not merged at once: the piece joins
the pending pieces, and leaves a gap at its position in the output. Up to MAX_PIECES pieces wait, also across the
texts of a call. fill_gaps() merges the pending pieces, stores them in the cache and writes their ids into the
gaps, copying everything after the first gap aside and back once. Without batches, encoding with a cold cache takes
1.52 times as long (docs/how/optimizations.md).

Each pending piece has a number. If a piece with a key occurs again while it is pending, its new gap gets the same
number, which its entry in the first table (PENDING) contains. Such an entry is valid only if its batch is the
current one (cache.n_settled). An older one is void: moves within the table may have taken it out of its probe
sequence, so that the merged piece did not replace it.
"""

# Tried and dropped: groups of 256 pieces: no gain. Sorting pieces by length first: the sort takes the time it saves.
# Tried and dropped: joining small documents into one text, so that a group has more misses: slower.
# Tried and dropped: setting known ids aside and joining them with the new ids later, which saves the second look-up:
#   slower, or no gain.
# Tried and dropped: threads of a call that share the pieces they merged: most of these are tokens, which are the
#   cheapest to merge.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe._core.cache.cache_state cimport MAX_GAPS, PENDING, Cache, Entry, Gap, Probe
from fastbpe._core.cache.long_pieces cimport find_long, keep_long, long_hash
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, key_hash
from fastbpe._core.cache.short_pieces cimport home_line, keep_short, put_entry
from fastbpe._core.common.hash_lookups cimport find_tag
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.merge.merge_batch cimport MAX_PIECES, BatchPiece, merge_batch
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.merge.token_lookups cimport confirm_token

cdef extern from "simd/entries.h" nogil:
    bint fb_entry_pack(Entry* entry, const uint32_t* ids, size_t n)

cdef enum:
    COPY_SLACK_IDS = 8  # ids after the last one that _copy() may overwrite


cdef int defer_short(
    Cache* cache, const Tables* tables, Entry* entry, const Probe* probe, size_t length, Ids* out
) except -1 nogil:
    """Leave a gap for a new piece that has a key.

    entry: the piece's PENDING entry in the first table; NULL: there is no entry.
    """
    cdef Entry pending
    cdef uint64_t batch_and_number = ~<uint64_t> 0  # n_settled * MAX_PIECES + number, as stored in PENDING entries
    cdef size_t number
    if entry != NULL:
        memcpy(&batch_and_number, entry.ids, sizeof(batch_and_number))
    if batch_and_number // MAX_PIECES == cache.n_settled:
        return _leave_gap(cache, tables, batch_and_number % MAX_PIECES, out)
    number = _add_pending(cache, <const uint8_t*> probe, length, SHORT_BYTES + 1)  # a key begins with its piece
    batch_and_number = cache.n_settled * MAX_PIECES + number
    pending.low, pending.high = probe.low, probe.high
    memcpy(pending.ids, &batch_and_number, sizeof(batch_and_number))
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
    """Leave a gap for a new piece that is too long for a key. If it occurs again while pending, it is added again."""
    return _leave_gap(cache, tables, _add_pending(cache, piece, length, length), out)


cdef inline size_t _add_pending(Cache* cache, const uint8_t* piece, size_t length, size_t n_copied) noexcept nogil:
    """Add a pending piece of `length` bytes; return its number.

    n_copied: bytes to copy, the piece or its whole key, because the text may be gone when the piece is merged.
    Requires: cache.n_pending < MAX_PIECES.
    """
    cdef BatchPiece* pending = &cache.pending[cache.n_pending]
    memcpy(pending.bytes, piece, n_copied)
    pending.text, pending.n_bytes = pending.bytes, <uint32_t> length
    cache.n_pending += 1
    return cache.n_pending - 1


cdef inline int _leave_gap(Cache* cache, const Tables* tables, size_t pending_piece, Ids* out) except -1 nogil:
    """Leave a gap at the end of `out`. Ensures: there is space for one more pending piece and one more gap."""
    cache.gaps[cache.n_gaps] = Gap(out.n, NULL, pending_piece)
    cache.n_gaps += 1
    if cache.n_pending == MAX_PIECES or cache.n_gaps == MAX_GAPS:
        fill_gaps(cache, tables, out)
    return 0


cdef int note_count(Cache* cache, const Tables* tables, size_t* count_out, Ids* out) except -1 nogil:
    """Store the number of ids in `out` in count_out: at once, and again when the gaps are filled.

    Requires: count_out stays valid until the gaps are filled or discarded.
    """
    count_out[0] = out.n
    if cache.n_gaps:
        cache.gaps[cache.n_gaps] = Gap(out.n, count_out, 0)
        cache.n_gaps += 1
        if cache.n_gaps == MAX_GAPS:
            fill_gaps(cache, tables, out)
    return 0


cdef int fill_gaps(Cache* cache, const Tables* tables, Ids* out) except -1 nogil:
    """Merge the pending pieces, store them in the cache and put their ids into the gaps.

    Requires: cache.n_gaps > 0. If it raises MemoryError, the gaps stay open: discard them.

    The ids after the first gap are copied aside, and then copied back with the new ids between them.
    """
    cdef BatchPiece* pending
    cdef Gap* gap
    cdef uint32_t* to
    cdef const uint32_t* ids
    cdef size_t i, n, first, at = 0, n_more = 0
    _merge_pending(cache, tables)
    for i in range(cache.n_gaps):
        if cache.gaps[i].count_out == NULL:
            n_more += cache.pending[cache.gaps[i].pending_piece].n_ids
    first = cache.gaps[0].position
    n = out.n - first
    cache.aside.n = 0
    ids_reserve(&cache.aside, n + COPY_SLACK_IDS)
    ids_reserve(out, n_more + COPY_SLACK_IDS)
    ids = cache.aside.items
    memcpy(cache.aside.items, out.items + first, n * sizeof(uint32_t))
    to = out.items + first
    for i in range(cache.n_gaps):
        gap = &cache.gaps[i]
        to = _copy(to, ids + at, gap.position - first - at)
        at = gap.position - first
        if gap.count_out != NULL:
            gap.count_out[0] = to - out.items
            continue
        pending = &cache.pending[gap.pending_piece]
        to = _copy(to, pending.ids, pending.n_ids)
    memcpy(to, ids + at, (n - at) * sizeof(uint32_t))
    out.n += n_more
    cache.n_gaps = cache.n_pending = 0
    return 0


cdef inline uint32_t* _copy(uint32_t* to, const uint32_t* ids, size_t n) noexcept nogil:
    """Copy n ids, eight at a time; return the address after the last.

    The ids of one gap are few, so this beats a memcpy of unknown size.
    Requires: both buffers have space for COPY_SLACK_IDS more ids.
    """
    cdef size_t i
    for i in range(0, n, 8):
        memcpy(to + i, ids + i, 8 * sizeof(uint32_t))
    return to + n


cdef void discard_gaps(Cache* cache, const Tables* tables) noexcept nogil:
    """Drop all gaps without filling them, because their output is dropped.

    The pending pieces are still merged and stored.
    """
    _merge_pending(cache, tables)
    cache.n_gaps = cache.n_pending = 0


cdef void _merge_pending(Cache* cache, const Tables* tables) noexcept nogil:
    """Merge each pending piece and store its ids in the cache.

    This ends the batch: a PENDING entry that the ids of its piece have not replaced becomes void.
    """
    cdef BatchPiece* pending = cache.pending
    cdef BatchPiece* unknown[MAX_PIECES]
    cdef size_t i, n = cache.n_pending, n_unknown = 0
    for i in range(n):
        pending[i].n_ids = 0
    if tables.whole_piece_first:
        _find_whole_pieces(tables, pending, n)
    for i in range(n):
        unknown[n_unknown] = &pending[i]
        n_unknown += pending[i].n_ids == 0
    merge_batch(tables, unknown, n_unknown)
    for i in range(n):
        _keep(cache, i)
    cache.n_settled += 1


cdef void _find_whole_pieces(const Tables* tables, BatchPiece* pending, size_t n) noexcept nogil:
    """Set the id of each piece that is a token; leave n_ids at 0 for the others.

    A look-up reads a slot, the token's end and its bytes, at three addresses far apart. Each pass over the batch
    prefetches the next address of every piece before the first is read.
    """
    cdef BatchPiece* piece
    cdef uint64_t[MAX_PIECES] hashes
    cdef uint16_t[MAX_PIECES] tagged  # numbers of the pieces whose tag matches some token's
    cdef size_t i, k, n_tagged = 0
    cdef uint32_t token
    for i in range(n):
        hashes[i] = hash_bytes(pending[i].text, pending[i].n_bytes, 0)
        prefetch(&tables.pieces[hashes[i] & tables.piece_mask])
    for i in range(n):
        token = find_tag(tables.pieces, tables.piece_mask, hashes[i])
        pending[i].ids[0] = token
        tagged[n_tagged] = <uint16_t> i
        n_tagged += token != NONE
        prefetch(&tables.token_ends[token if token != NONE else 0])
    for k in range(n_tagged):
        prefetch(tables.token_bytes + tables.token_ends[pending[tagged[k]].ids[0]] - 1)  # not its start: one more read
    for k in range(n_tagged):
        piece = &pending[tagged[k]]
        piece.ids[0] = confirm_token(tables, piece.ids[0], piece.text, piece.n_bytes)
        piece.n_ids = piece.ids[0] != NONE


cdef void _keep(Cache* cache, size_t number) noexcept nogil:
    """Store a merged pending piece.

    A piece with a key goes into its PENDING entry if that is still in place, otherwise into a new one; a longer
    piece goes into the second table, unless it is there already.
    """
    cdef BatchPiece* pending = &cache.pending[number]
    cdef Entry* entry
    cdef Probe probe
    cdef uint64_t hash
    if pending.n_bytes <= SHORT_BYTES:
        memcpy(&probe, pending.bytes, SHORT_BYTES + 1)
        entry = &cache.entries[cache.pending_entry[number]]
        if entry.low == probe.low and entry.high == probe.high and entry.n_ids == PENDING:
            if fb_entry_pack(entry, pending.ids, pending.n_ids):
                return
        probe.line = home_line(cache, key_hash(probe.low, probe.high, cache.seed))
        keep_short(cache, &probe, pending.ids, pending.n_ids)
        return
    hash = long_hash(cache, pending.bytes, pending.n_bytes)
    if not cache.n_long or not find_long(cache, hash, pending.bytes, pending.n_bytes).hash:
        keep_long(cache, hash, pending.bytes, pending.n_bytes, pending.ids, pending.n_ids)
