"""The piece cache: what pieces became before, by their exact bytes, so that most are looked up and not merged.

Two tables and an arena. The first table holds pieces of up to 15 bytes, nearly all of any text: 32 bytes an
entry, the piece itself being the key, two entries to a line of the processor's cache, and a piece is in its
home line or in one of the three beside it. Up to 6 ids are in the entry, more are in the arena. The second table
(`long_pieces`) is for longer pieces, whose bytes and ids lie in the arena. Pieces are taken in groups: first their
keys are made and their lines asked for, then all are looked up. What is in none of the tables is left to
`pending`, which learns many new pieces at once.

A cache belongs to one thread at a time. It begins small and grows with what is really distinct, since what
matters most for speed is how much of it the processor's caches can hold; at its limit new pieces push out
old ones. Without memory it stays as it is: a cache must not fail.

Not seeded with the vocabulary: a whole-piece look-up costs little more than the entry's birth would, and
entries that no text asks for would crowd out the others.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.cache.cache_state cimport GROUP, IN_ARENA, PENDING, Cache, Entry, LongSlot, Probe
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, copy_tail, key_hash, make_key
from fastbpe._core.cache.long_pieces cimport find_long, keep_long, long_hash, slot_of, words_of
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
    LEAST_BYTES = 1 << 18
    FAR = 1 << 14  # ids from the first gap on: they have to move when it is filled
    LONG_BYTES = 1 << 10  # longer pieces are hardly ever met again, and are merged each time


cdef void cache_start(Cache* cache, uint64_t seed, size_t limit) noexcept nogil:
    """Begin an empty cache; nobody who does not know the seed can make pieces collide."""
    memset(cache, 0, sizeof(Cache))
    cache.seed = seed
    cache.limit = max(limit, <size_t> LEAST_BYTES)


cdef void cache_free(Cache* cache) noexcept nogil:
    free(cache.entries_block)
    free(cache.slots_block)
    free(cache.arena)
    ids_free(&cache.aside)
    cache_start(cache, cache.seed, cache.limit)


cdef size_t cache_bytes(const Cache* cache) noexcept nogil:
    return (
        cache.n_entries * sizeof(Entry) + cache.n_slots * sizeof(LongSlot)
        + cache.arena_capacity * sizeof(uint32_t)
    )


cdef void cache_limit(Cache* cache, size_t limit) noexcept nogil:
    """Set a new limit; a cache that is beyond it begins anew."""
    limit = max(limit, <size_t> LEAST_BYTES)
    if cache_bytes(cache) > limit:
        cache_free(cache)
    cache.limit = limit


cdef int encode_pieces(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t n, size_t start,
    const size_t* ends, size_t n_ends, Ids* out,
) except -1 nogil:
    """Append the ids of the pieces of data[start:n] that end at ends."""
    cdef size_t n_pieces
    while n_ends:
        n_pieces = min(n_ends, <size_t> GROUP)
        group_aim(cache, data, n, start, ends, n_pieces)
        _look_up(cache, tables, data, start, ends, n_pieces, out)
        start = ends[n_pieces - 1] & ~UNMATCHED
        ends += n_pieces
        n_ends -= n_pieces
        if cache.n_gaps and out.n - cache.gaps[0].place > <size_t> FAR:
            settle(cache, tables, out)
    return 0 if cache.defers else settle(cache, tables, out)


cdef int group_aim(
    Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_pieces
) except -1 nogil:
    """Make the keys of the pieces of a group, at least one, and ask for their lines."""
    cdef size_t i, n_long, tail, n_inside = n_pieces
    cdef LongSlot* slot
    cdef uint64_t hash
    if is_full(cache):
        grow_entries(cache)
    if (ends[n_pieces - 1] & ~UNMATCHED) + 16 <= n:
        n_long = _aim(cache, data, start, ends, 0, n_pieces, 0)
    else:
        tail = copy_tail(cache.tail, data, n)
        while n_inside and (ends[n_inside - 2] & ~UNMATCHED if n_inside > 1 else start) >= tail:
            n_inside -= 1
        n_long = _aim(cache, data, start, ends, 0, n_inside, 0)
        if n_inside:
            start = ends[n_inside - 1] & ~UNMATCHED
        n_long = _aim(cache, cache.tail - tail, start, ends, n_inside, n_pieces, n_long)
    for i in range(n_long):
        hash = cache.probes[cache.long_ones[i]].low
        slot = slot_of(cache, hash)
        if slot.hash == hash:
            prefetch(cache.arena + slot.at)
    return 0


cdef inline size_t _aim(
    Cache* cache, const uint8_t* data, size_t start, const size_t* ends, size_t first, size_t n_pieces, size_t n_long
) noexcept nogil:
    """The same for those from the first one on, 16 bytes of each of which may be read. How many are long by then."""
    cdef Probe* probe = cache.probes
    cdef size_t i, length, end
    cdef uint64_t low, high
    for i in range(first, n_pieces):
        end = ends[i]
        length = end - start  # a gap's has its top bit set
        if likely(length <= SHORT_BYTES):
            low = make_key(data + start, length, &probe[i], &high)
            probe[i].line = home_line(cache, key_hash(low, high, cache.seed))
            prefetch(probe[i].line)
            start = end
        else:
            n_long = _aim_long(cache, data + start, length, i, n_long)
            start = end & ~UNMATCHED
    return n_long


cdef size_t _aim_long(Cache* cache, const uint8_t* piece, size_t length, size_t i, size_t n_long) noexcept nogil:
    """The same for one that is too long for a key, or a gap."""
    cdef Probe* probe = &cache.probes[i]
    probe.line = cache.entries  # to be read, and not to match: no key's length is 255
    probe.high = ~<uint64_t> 0
    probe.low = 0
    if length <= LONG_BYTES and cache.n_slots:
        probe.low = long_hash(cache, piece, length)
        prefetch(slot_of(cache, probe.low))
        cache.long_ones[n_long] = <uint16_t> i
        n_long += 1
    return n_long


cdef int group_look_up(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t start, const size_t* ends,
    size_t n_pieces, Ids* out,
) except -1 nogil:
    """Append the ids of the pieces that were aimed at last."""
    _look_up(cache, tables, data, start, ends, n_pieces, out)
    return 0 if cache.defers else settle(cache, tables, out)


cdef int _look_up(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t start, const size_t* ends,
    size_t n_pieces, Ids* out,
) except -1 nogil:
    """The same, with gaps where pieces are new."""
    cdef uint32_t* to
    cdef size_t i = 0, room = SHORT_BYTES + FB_ENTRY_IDS * (n_pieces + 1)
    ids_reserve(out, room)
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
                _long(cache, tables, data + start, ends[i] - start, out)
            else:
                _short(cache, tables, data + start, ends[i] - start, &cache.probes[i], out)
            ids_reserve(out, room)
        i += 1


cdef int _short(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Probe* probe, Ids* out
) except -1 nogil:
    """A short piece whose ids are not in its home line: in a line beside it, in the arena, or to be found."""
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
    keep_short(cache, probe, out.items + before, out.n - before)
    return 0


cdef int _long(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Ids* out
) except -1 nogil:
    """A long piece: in the second table, or to be merged."""
    cdef LongSlot* slot
    cdef uint64_t hash
    cdef size_t before = out.n
    if length > LONG_BYTES:
        settle(cache, tables, out)  # its ids may be very many, and would have to move
        return encode_piece(tables, piece, length, out)
    hash = long_hash(cache, piece, length)
    if cache.n_long:
        slot = find_long(cache, hash, piece, length)
        if slot.hash:
            ids_reserve(out, slot.n_ids)
            memcpy(
                out.items + out.n, cache.arena + slot.at + words_of(length), slot.n_ids * sizeof(uint32_t)
            )
            out.n += slot.n_ids
            return 0
    if may_defer(tables, length):
        return defer_long(cache, tables, piece, length, out)
    encode_piece(tables, piece, length, out)
    keep_long(cache, hash, piece, length, out.items + before, out.n - before)
    return 0
