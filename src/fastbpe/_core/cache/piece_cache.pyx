"""Piece cache: finds the ids of earlier pieces by their exact bytes, so that few pieces need merging.

- First table (short_pieces): pieces of up to 15 bytes, which are nearly all pieces of any text. Entries of 32
  bytes, keyed by the piece itself; up to 6 ids are in the entry, more in the arena.
- Second table (long_pieces): longer pieces; their bytes and ids are in the arena.
- Pending pieces (pending_pieces): cache misses, merged in batches.

Pieces are looked up in groups: probe_group() makes the keys of a group and prefetches their home lines, then
_look_up() reads them.

A cache belongs to one thread at a time. It starts small and grows with the number of distinct pieces, because its
speed depends on how much of it fits into the processor's caches. At its limit, new short pieces evict old ones,
and a full second table or arena empties the whole cache. If memory for growth is missing, it keeps its size: the
tables are an optimization and must not fail.

Tried and dropped: filling the cache with the vocabulary at the start. Looking a new piece up as a token takes
little longer than making its entry, and entries of tokens that do not occur in the texts crowd out others.
"""

# Tried and dropped: making keys a fixed number of pieces ahead instead of in groups: no gain. Groups of 1,024 pieces:
#   they do not fit into the L1 cache.
# Tried and dropped: hashing keys with AES instructions, loading eight keys with two gathers, other prefetch hints:
#   no gain.
# Tried and dropped: a second table for counting, with 8 bytes per piece: it would take 128 KB per thread and gain
#   little (measured in benchmarks/records/2026-11-25-token-work.md).
# Tried and dropped: writing the items of the list during the look-up, without an array of ids: slower for short
#   texts.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.cache.cache_state cimport GROUP, IN_ARENA, PENDING, Cache, Entry, LongSlot, Probe
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, copy_tail, key_hash, make_key
from fastbpe._core.cache.long_pieces cimport arena_words, find_long, keep_long, long_hash, slot_of
from fastbpe._core.common.memory cimport likely, prefetch
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.merge.merge_piece cimport encode_piece
from fastbpe._core.cache.short_pieces cimport bring_home, find_short, grow_entries, home_line, is_full, keep_short
from fastbpe._core.cache.pending_pieces cimport defer_long, defer_short, may_defer, settle
from fastbpe._core.split.splitter cimport UNMATCHED
from fastbpe._core.merge.vocabulary cimport Tables

cdef extern from "simd/entries.h" nogil:
    cdef enum:
        FB_ENTRY_IDS

    void fb_entry_unpack(const Entry* entry, uint32_t* to)
    size_t fb_entries_copy(const Probe* probes, size_t i, size_t n, uint32_t** to)

cdef enum:
    MIN_CACHE_BYTES = 1 << 18  # lower bound of the limit; half of it is more than the smallest first table takes
    MAX_IDS_BEHIND_GAP = 1 << 14  # ids after the first gap, all moved later, at which gaps are filled
    # A long piece with more ids is not cached. A continuing_subword_prefix without a token becomes byte tokens before
    # each character, so ids may outnumber bytes by far, and exceed LongSlot.n_ids.
    MAX_CACHED_IDS = 1 << 12
    MAX_CACHED_BYTES = 1 << 10  # longest piece that is cached; longer ones hardly ever repeat

# Upper bound of the limit. Entries have 32-bit indices of words in the arena, which may take 3/8 of it.
cdef size_t MAX_CACHE_BYTES = <size_t> 1 << 35


cdef void cache_start(Cache* cache, uint64_t seed, size_t limit) noexcept nogil:
    """Start an empty cache.

    seed: secret seed of its hashes, so that nobody can choose pieces that collide.
    limit: bytes that the tables and the arena together may take, moved into MIN_CACHE_BYTES to MAX_CACHE_BYTES.
    """
    memset(cache, 0, sizeof(Cache))
    cache.seed = seed
    cache.limit = _within_bounds(limit)


cdef void cache_free(Cache* cache) noexcept nogil:
    """Free all memory of the cache and start it empty, with the same seed and limit."""
    free(cache.entries_block)
    free(cache.slots_block)
    free(cache.arena)
    ids_free(&cache.aside)
    cache_start(cache, cache.seed, cache.limit)


cdef size_t cache_bytes(const Cache* cache) noexcept nogil:
    """Bytes that the tables and the arena take, without memory reserved for growth."""
    return (
        cache.n_entries * sizeof(Entry) + cache.n_slots * sizeof(LongSlot)
        + cache.arena_capacity * sizeof(uint32_t)
    )


cdef void cache_limit(Cache* cache, size_t limit) noexcept nogil:
    """Set a new limit, in bytes, as in cache_start(). Empties a cache that is larger."""
    limit = _within_bounds(limit)
    if cache_bytes(cache) > limit:
        cache_free(cache)
    cache.limit = limit


cdef inline size_t _within_bounds(size_t limit) noexcept nogil:
    return min(max(limit, <size_t> MIN_CACHE_BYTES), MAX_CACHE_BYTES)


cdef int encode_pieces(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t n, size_t start,
    const size_t* ends, size_t n_ends, Ids* out,
) except -1 nogil:
    """Append the ids of the pieces of a text to `out`.

    data, n: the whole text; nothing at or after data[n] is read.
    start: offset of the first piece.
    ends, n_ends: end offsets of the pieces, each also the start of the next. If UNMATCHED is set in an end, the
        text up to it is not a piece and gets no ids.

    Ensures: no gap is left in `out`, unless cache.defers; then call settle() before reading `out`.
    """
    cdef size_t n_pieces
    while n_ends:
        n_pieces = min(n_ends, <size_t> GROUP)
        probe_group(cache, data, n, start, ends, n_pieces)
        _look_up(cache, tables, data, start, ends, n_pieces, out)
        start = ends[n_pieces - 1] & ~UNMATCHED
        ends += n_pieces
        n_ends -= n_pieces
        if cache.n_gaps and out.n - cache.gaps[0].position > <size_t> MAX_IDS_BEHIND_GAP:
            settle(cache, tables, out)
    return 0 if cache.defers else settle(cache, tables, out)


cdef int probe_group(
    Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_pieces
) except -1 nogil:
    """Make the keys of a group of pieces and prefetch their home lines. Arguments as in encode_pieces().

    Requires: 1 <= n_pieces <= GROUP. Pieces within the last 16 bytes are read from cache.tail, a padded copy.
    """
    cdef size_t i, n_long, tail, n_inside = n_pieces
    cdef LongSlot* slot
    cdef uint64_t hash
    if is_full(cache):  # the only place where the table may move: probes point into it
        grow_entries(cache)
    if (ends[n_pieces - 1] & ~UNMATCHED) + 16 <= n:
        n_long = _probe(cache, data, start, ends, 0, n_pieces, 0)
    else:
        tail = copy_tail(cache.tail, data, n)
        while n_inside and (ends[n_inside - 2] & ~UNMATCHED if n_inside > 1 else start) >= tail:
            n_inside -= 1
        n_long = _probe(cache, data, start, ends, 0, n_inside, 0)
        if n_inside:
            start = ends[n_inside - 1] & ~UNMATCHED
        # The copy begins at offset `tail` of the text, so this address makes offsets of the text refer to the copy.
        n_long = _probe(cache, cache.tail - tail, start, ends, n_inside, n_pieces, n_long)
    for i in range(n_long):
        hash = cache.probes[cache.long_ones[i]].low
        slot = slot_of(cache, hash)
        if slot.hash == hash:
            prefetch(cache.arena + slot.at)
    return 0


cdef inline size_t _probe(
    Cache* cache, const uint8_t* data, size_t start, const size_t* ends,
    size_t first, size_t n_pieces, size_t n_long,
) noexcept nogil:
    """Make the keys of pieces first to n_pieces - 1; return how many pieces are then in cache.long_ones.

    Requires: 16 bytes from the start of each piece on are readable.
    """
    cdef Probe* probe = cache.probes
    cdef size_t i, length, end
    cdef uint64_t low, high
    for i in range(first, n_pieces):
        end = ends[i]
        length = end - start  # if UNMATCHED is set, it is huge and no key is made
        if likely(length <= SHORT_BYTES):
            low = make_key(data + start, length, &probe[i], &high)
            probe[i].line = home_line(cache, key_hash(low, high, cache.seed))
            prefetch(probe[i].line)
            start = end
        else:
            n_long = _probe_long(cache, data + start, length, i, n_long)
            start = end & ~UNMATCHED
    return n_long


cdef size_t _probe_long(Cache* cache, const uint8_t* piece, size_t length, size_t i, size_t n_long) noexcept nogil:
    """Set the probe of a piece that is too long for a key, or of unmatched text; return the new n_long."""
    cdef Probe* probe = &cache.probes[i]
    probe.line = cache.entries  # any line: it is read, but cannot match because no key has the length 255
    probe.high = ~<uint64_t> 0
    if length <= MAX_CACHED_BYTES and cache.n_slots:
        probe.low = long_hash(cache, piece, length)
        prefetch(slot_of(cache, probe.low))
        cache.long_ones[n_long] = <uint16_t> i
        n_long += 1
    return n_long


cdef int look_up_group(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t start, const size_t* ends,
    size_t n_pieces, Ids* out,
) except -1 nogil:
    """Append the ids of the group of the last call of probe_group(), with the same arguments."""
    _look_up(cache, tables, data, start, ends, n_pieces, out)
    return 0 if cache.defers else settle(cache, tables, out)


cdef int _look_up(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t start, const size_t* ends,
    size_t n_pieces, Ids* out,
) except -1 nogil:
    """Append the ids of a group, and leave gaps for new pieces.

    Runs of hits in home lines are copied by one kernel.
    """
    cdef uint32_t* to
    cdef size_t i = 0, n_most = SHORT_BYTES + FB_ENTRY_IDS * n_pieces  # the ids of one miss and of all hits
    ids_reserve(out, n_most)
    while True:
        to = out.items + out.n
        i = fb_entries_copy(cache.probes, i, n_pieces, &to)
        out.n = to - out.items
        if i == n_pieces:
            return 0
        if i:
            start = ends[i - 1] & ~UNMATCHED
        if not ends[i] & UNMATCHED:
            if ends[i] - start > SHORT_BYTES:
                _append_long(cache, tables, data + start, ends[i] - start, out)
            else:
                _append_short(cache, tables, data + start, ends[i] - start, &cache.probes[i], out)
            ids_reserve(out, n_most)
        i += 1


cdef int _append_short(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Probe* probe, Ids* out
) except -1 nogil:
    """Append the ids of a short piece: from a line next to its home line, from the arena, or by merging."""
    cdef Entry* entry = find_short(cache, probe)
    cdef size_t before = out.n
    cdef uint32_t at
    if entry != NULL and entry.n_ids != PENDING:
        if entry.n_ids & IN_ARENA:
            memcpy(&at, entry.ids, sizeof(at))
            memcpy(out.items + out.n, cache.arena + at, SHORT_BYTES * sizeof(uint32_t))
        else:
            fb_entry_unpack(entry, out.items + out.n)
        out.n += entry.n_ids & ~IN_ARENA
        bring_home(cache, probe, entry)
        return 0
    if may_defer(tables, length):
        return defer_short(cache, tables, entry, probe, length, out)
    encode_piece(tables, piece, length, out)
    # In a vocabulary of characters a piece may have no ids, or more than SHORT_BYTES: an entry cannot say so.
    if 0 < out.n - before <= SHORT_BYTES:
        keep_short(cache, probe, out.items + before, out.n - before)
    return 0


cdef int _append_long(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Ids* out
) except -1 nogil:
    """Append the ids of a piece of more than SHORT_BYTES bytes: from the second table, or by merging."""
    cdef LongSlot* slot
    cdef uint64_t hash
    cdef size_t before = out.n
    if length > MAX_CACHED_BYTES:
        settle(cache, tables, out)  # now, because filling the gaps later would move the many ids of this piece
        return encode_piece(tables, piece, length, out)
    hash = long_hash(cache, piece, length)  # again: without slots, _probe_long() did not compute it
    if cache.n_long:
        slot = find_long(cache, hash, piece, length)
        if slot.hash:
            ids_reserve(out, slot.n_ids)
            memcpy(
                out.items + out.n, cache.arena + slot.at + arena_words(length), slot.n_ids * sizeof(uint32_t)
            )
            out.n += slot.n_ids
            return 0
    if may_defer(tables, length):
        return defer_long(cache, tables, piece, length, out)
    encode_piece(tables, piece, length, out)
    if out.n - before <= MAX_CACHED_IDS:
        keep_long(cache, hash, piece, length, out.items + before, out.n - before)
    return 0
