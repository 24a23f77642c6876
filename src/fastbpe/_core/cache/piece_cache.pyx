"""The piece cache: what pieces became before, by their exact bytes, so that most are looked up and not merged.

Two tables and an arena. The first table holds pieces of up to 15 bytes, nearly all of any text: 32 bytes an
entry, the piece itself being the key, two entries to a line of the processor's cache, and a piece is in its
home line or in one of the three beside it. Up to 6 ids are in the entry, more are in the arena. The second table
(`long_pieces`) is for longer pieces, whose bytes and ids lie in the arena. Pieces are taken in groups: first their
keys are made and their lines asked for, then all are looked up. What is in none of the tables is left to
`newcomers`, which learns many new pieces at once.

A cache belongs to one thread at a time. It begins small and grows with what is really distinct, since what
matters most for speed is how much of it the processor's caches can hold; at its limit new pieces push out
old ones. Without memory it stays as it is: a cache must not fail.

Not seeded with the vocabulary: a whole-piece look-up costs little more than the entry's birth would, and
entries that no text asks for would crowd out the others.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, copy_tail, key_hash, make_key
from fastbpe._core.cache.long_pieces cimport arena_room, find_long, keep_long, slot_of, words_of
from fastbpe._core.common.memory cimport lay_out, likely, prefetch, zeros
from fastbpe._core.merge.merge_piece cimport Ids, encode_piece, ids_free, ids_reserve
from fastbpe._core.merge.merge_batch cimport Merging
from fastbpe._core.cache.pending_pieces cimport await_long, await_short, may_wait, settle
from fastbpe._core.split.splitter cimport GAP
from fastbpe._core.common.hash_tables cimport hash_bytes
from fastbpe._core.merge.vocabulary cimport Tables

cdef extern from "simd/entries.h" nogil:
    cdef enum:
        FB_ENTRY_IDS

    bint fb_entry_pack(Entry* entry, const uint32_t* ids, size_t n)
    void fb_entry_unpack(const Entry* entry, uint32_t* to)
    size_t fb_entries_copy(const Probe* probes, size_t i, size_t n, uint32_t** to)

cdef enum:
    LEAST_BYTES = 1 << 18
    FIRST_ENTRIES = 1 << 11  # 64 KB
    GROWTH = 4
    FAST_ENTRIES = 1 << 17  # from here on the table grows twofold: fresh memory is dear
    ROOMY_ENTRIES = 1 << 15  # from here on it has room to grow where it is, which costs nothing until it is touched
    ROOM = 16
    LINES = 4  # in which a piece may be: where the limit keeps it from growing, a tenth faster than with two
    PUSHED = 8  # times what it costs to find a piece beside its home line, some 20 ns: to learn it again
    FAR = 1 << 14  # ids from the first hole on: they have to move when it is filled
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
        start = ends[n_pieces - 1] & ~GAP
        ends += n_pieces
        n_ends -= n_pieces
        if cache.n_holes and out.n - cache.holes[0].place > <size_t> FAR:
            settle(cache, tables, out)
    return 0 if cache.defers else settle(cache, tables, out)


cdef int group_aim(
    Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_pieces
) except -1 nogil:
    """Make the keys of the pieces of a group, at least one, and ask for their lines."""
    cdef size_t i, n_long, tail, n_inside = n_pieces
    cdef LongSlot* slot
    cdef uint64_t hash
    if _is_full(cache):
        _grow(cache)
    if (ends[n_pieces - 1] & ~GAP) + 16 <= n:
        n_long = _aim(cache, data, start, ends, 0, n_pieces, 0)
    else:
        tail = copy_tail(cache.tail, data, n)
        while n_inside and (ends[n_inside - 2] & ~GAP if n_inside > 1 else start) >= tail:
            n_inside -= 1
        n_long = _aim(cache, data, start, ends, 0, n_inside, 0)
        if n_inside:
            start = ends[n_inside - 1] & ~GAP
        n_long = _aim(cache, cache.tail - tail, start, ends, n_inside, n_pieces, n_long)
    for i in range(n_long):
        hash = cache.probes[cache.long_ones[i]].low
        slot = slot_of(cache, hash)
        if slot.hash == hash:
            prefetch(cache.arena + slot.at)
    return 0


cdef inline bint _is_full(const Cache* cache) noexcept nogil:
    """Whether the first table should grow: when it is half full, or its size has cost as much as growing does.

    A large table is filled further, for fresh memory is dear: it takes a tenth off a first pass over 16 MB. One that is
    three quarters empty stays, whatever it costs: of pieces that are met often some always share a line.
    """
    cdef size_t most = cache.n_entries // 2 if cache.n_entries < FAST_ENTRIES else cache.n_entries // 16 * 11
    return cache.n_used >= most or (cache.cost >= cache.n_entries and cache.n_used >= cache.n_entries // 4)


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
            probe[i].line = _home(cache, key_hash(low, high, cache.seed))
            prefetch(probe[i].line)
            start = end
        else:
            n_long = _aim_long(cache, data + start, length, i, n_long)
            start = end & ~GAP
    return n_long


cdef size_t _aim_long(Cache* cache, const uint8_t* piece, size_t length, size_t i, size_t n_long) noexcept nogil:
    """The same for one that is too long for a key, or a gap."""
    cdef Probe* probe = &cache.probes[i]
    probe.line = cache.entries  # to be read, and not to match: no key's length is 255
    probe.high = ~<uint64_t> 0
    probe.low = 0
    if length <= LONG_BYTES and cache.n_slots:
        probe.low = _long_hash(cache, piece, length)
        prefetch(slot_of(cache, probe.low))
        cache.long_ones[n_long] = <uint16_t> i
        n_long += 1
    return n_long


cdef inline uint64_t _long_hash(const Cache* cache, const uint8_t* piece, size_t length) noexcept nogil:
    return hash_bytes(piece, length, cache.seed) | 1


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
    """The same, with holes where pieces are new."""
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
            start = ends[i - 1] & ~GAP
        if not ends[i] & GAP:
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
    cdef Entry* entry = _find_short(cache, probe)
    cdef size_t before = out.n
    cdef uint32_t at
    if entry != NULL and entry.n_ids != PENDING:
        if entry.n_ids & IN_ARENA:
            memcpy(&at, entry.ids, sizeof(at))
            memcpy(out.items + out.n, cache.arena + at, SHORT_BYTES * sizeof(uint32_t))
        else:
            fb_entry_unpack(entry, out.items + out.n)
        out.n += entry.n_ids & ~IN_ARENA
        _bring_home(cache, probe, entry)
        return 0
    if may_wait(tables, length):
        return await_short(cache, tables, entry, probe, length, out)
    encode_piece(tables, piece, length, out)
    _keep(cache, probe, out.items + before, out.n - before)
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
    hash = _long_hash(cache, piece, length)
    if cache.n_long:
        slot = find_long(cache, hash, piece, length)
        if slot.hash:
            ids_reserve(out, slot.n_ids)
            memcpy(
                out.items + out.n, cache.arena + slot.at + words_of(length), slot.n_ids * sizeof(uint32_t)
            )
            out.n += slot.n_ids
            return 0
    if may_wait(tables, length):
        return await_long(cache, tables, piece, length, out)
    encode_piece(tables, piece, length, out)
    keep_long(cache, hash, piece, length, out.items + before, out.n - before)
    return 0


# The first table


cdef inline Entry* _home(const Cache* cache, uint64_t hash) noexcept nogil:
    """The line that a piece of this hash is looked for in."""
    return <Entry*> (<char*> cache.entries + (hash & cache.line_mask))


cdef inline Entry* _line_beside(const Cache* cache, Entry* line, int i) noexcept nogil:
    """The i-th of the LINES where the pieces of a home line are looked for, the first of which it is."""
    return &cache.entries[(line - cache.entries) ^ 2 * i]


cdef inline Entry* _in_line(Entry* line, const Probe* probe) noexcept nogil:
    """The piece's entry in a line, or NULL."""
    if line[0].low == probe.low and line[0].high == probe.high:
        return line
    return line + 1 if line[1].low == probe.low and line[1].high == probe.high else NULL


cdef inline Entry* _find_short(const Cache* cache, const Probe* probe) noexcept nogil:
    """The piece's entry, or NULL."""
    cdef Entry* entry = _in_line(probe.line, probe)
    return entry if entry != NULL or not probe.line[1].n_ids else _find_beside(cache, probe)


cdef Entry* _find_beside(const Cache* cache, const Probe* probe) noexcept nogil:
    cdef Entry* line
    cdef Entry* entry = NULL
    cdef int i
    for i in range(1, LINES):
        line = _line_beside(cache, probe.line, i)
        entry = _in_line(line, probe)
        if entry != NULL or not line[1].n_ids:
            break
    return entry


cdef inline bint _either(Cache* cache) noexcept nogil:
    """One of the two places in a line, by turns: were it the piece that chose, two might drive each other out for ever."""
    cache.turn = not cache.turn
    return cache.turn


cdef inline void _bring_home(Cache* cache, const Probe* probe, Entry* entry) noexcept nogil:
    """Have a piece that was found beside its home line change places with one in it, so that what is met often is there.

    Many languages 4 % faster, code 9, English 1.
    """
    cdef Entry* other = &probe.line[_either(cache)]
    cdef Entry swapped = other[0]
    if <size_t> (entry - probe.line) > 1:
        cache.cost += 1
        other[0] = entry[0]
        entry[0] = swapped


cdef void cache_keep(Cache* cache, size_t newcomer) noexcept nogil:
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
        probe.line = _home(cache, key_hash(probe.low, probe.high, cache.seed))
        _keep(cache, &probe, m.ids, m.n_ids)
        return
    hash = _long_hash(cache, m.bytes, m.n_bytes)
    if not cache.n_long or not find_long(cache, hash, m.bytes, m.n_bytes).hash:
        keep_long(cache, hash, m.bytes, m.n_bytes, m.ids, m.n_ids)


cdef void _keep(Cache* cache, const Probe* probe, const uint32_t* ids, size_t n_ids) noexcept nogil:
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
    entry = _find_short(cache, probe)
    if entry == NULL:
        put_entry(cache, probe.line, &kept)
    elif entry.n_ids == PENDING:
        entry[0] = kept


cdef Entry* put_entry(Cache* cache, Entry* home, const Entry* kept) noexcept nogil:
    """Put an entry where it is looked for first: the first free place, or else that of another; which place."""
    cdef Entry* line = home
    cdef int i = 1
    while i < LINES and line[1].n_ids:
        line = _line_beside(cache, home, i)
        i += 1
    if line[1].n_ids:
        cache.cost += PUSHED
        line = &home[_either(cache)]
    else:
        cache.n_used += 1
        line = &line[line[0].n_ids != 0]
    line[0] = kept[0]
    return line


cdef int _grow(Cache* cache) except -1 nogil:
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
                put_entry(cache, _home(cache, key_hash(together[k].low, together[k].high, cache.seed)), &together[k])
