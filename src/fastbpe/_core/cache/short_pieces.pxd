from libc.stdint cimport uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache, Entry, Probe

cdef enum:
    PROBED_LINES = 4  # lines that a piece may be in: its home line and three more (a total of two was slower)


cdef inline Entry* home_line(const Cache* cache, uint64_t hash) noexcept nogil:
    """Home line of a piece with this hash: its first entry."""
    return <Entry*> (<char*> cache.entries + (hash & cache.line_mask))


cdef inline Entry* line_beside(const Cache* cache, Entry* line, int i) noexcept nogil:
    """Line number i of a home line's probe sequence, 0 <= i < PROBED_LINES; 0 is the home line itself."""
    return &cache.entries[(line - cache.entries) ^ 2 * i]


cdef inline Entry* entry_in_line(Entry* line, const Probe* probe) noexcept nogil:
    """Entry of the piece in one line, or NULL."""
    if line[0].low == probe.low and line[0].high == probe.high:
        return line
    return line + 1 if line[1].low == probe.low and line[1].high == probe.high else NULL


cdef inline Entry* find_short(const Cache* cache, const Probe* probe) noexcept nogil:
    """Entry of the piece in the first table, or NULL.

    Requires: the table exists, and probe.line is its home line.
    """
    cdef Entry* entry = entry_in_line(probe.line, probe)
    return entry if entry != NULL or not probe.line[1].n_ids else find_beside(cache, probe)


cdef inline bint victim_place(Cache* cache) noexcept nogil:
    """Choose which of a line's two entries to evict, 0 or 1, in turn.

    If the choice depended on the piece, two frequent pieces could evict each other again and again.
    """
    cache.turn = not cache.turn
    return cache.turn


cdef inline void bring_home(Cache* cache, const Probe* probe, Entry* entry) noexcept nogil:
    """Swap an entry next to its home line with one in it, so that frequent pieces end up in their home lines.

    The entry that is swapped out stays among its four lines. If one of them is not full, a search may end before it;
    then its piece is merged and stored again. Measured: faster on all texts, most on source code.
    """
    cdef Entry* home_entry = &probe.line[victim_place(cache)]
    cdef Entry swapped = home_entry[0]
    if <size_t> (entry - probe.line) > 1:  # not in the home line: an entry before it gives a huge number
        cache.cost += 1
        home_entry[0] = entry[0]
        entry[0] = swapped


cdef bint is_full(const Cache* cache) noexcept nogil
cdef Entry* find_beside(const Cache* cache, const Probe* probe) noexcept nogil
cdef void keep_short(Cache* cache, const Probe* probe, const uint32_t* ids, size_t n_ids) noexcept nogil
cdef Entry* put_entry(Cache* cache, Entry* home, const Entry* kept) noexcept nogil
cdef int grow_entries(Cache* cache) except -1 nogil
