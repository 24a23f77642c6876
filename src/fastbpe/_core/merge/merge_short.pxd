"""Merge a few symbols, with a linear search for the best pair."""

from libc.stdint cimport uint32_t
from libc.string cimport memmove

from fastbpe._core.common.hash_lookups cimport find_merge
from fastbpe._core.common.hash_tables cimport Merge
from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    MAX_SHORT = 64  # limit on the number of symbols


cdef inline size_t merge_in_place(
    const Tables* tables, size_t n, uint32_t limit, uint32_t* ids, uint32_t* lengths
) noexcept nogil:
    """Merge n <= MAX_SHORT symbols in place, and return the number of ids.

    limit: merge only pairs whose priority is below it. NONE: merge all pairs.
    lengths: length of each symbol, replaced by the length of each id; NULL: not needed.
    """
    cdef uint32_t priorities[MAX_SHORT]  # of the pair (symbol i, symbol i + 1)
    cdef uint32_t merged[MAX_SHORT]  # id that this pair is merged into
    cdef Merge pair
    cdef size_t i, at
    cdef uint32_t best
    for i in range(n - 1 if n else 0):
        pair = find_merge(&tables.pairs, ids[i], ids[i + 1])
        priorities[i] = pair.priority
        merged[i] = pair.id
    while n > 1:
        best = limit
        at = 0
        for i in range(n - 1):
            if priorities[i] < best:
                best = priorities[i]
                at = i
        if best == limit:
            break
        ids[at] = merged[at]
        n -= 1
        memmove(ids + at + 1, ids + at + 2, (n - at - 1) * sizeof(uint32_t))
        if lengths != NULL:
            lengths[at] += lengths[at + 1]
            memmove(lengths + at + 1, lengths + at + 2, (n - at - 1) * sizeof(uint32_t))
        if at + 1 < n:
            memmove(priorities + at + 1, priorities + at + 2, (n - at - 2) * sizeof(uint32_t))
            memmove(merged + at + 1, merged + at + 2, (n - at - 2) * sizeof(uint32_t))
            pair = find_merge(&tables.pairs, ids[at], ids[at + 1])
            priorities[at] = pair.priority
            merged[at] = pair.id
        if at:
            pair = find_merge(&tables.pairs, ids[at - 1], ids[at])
            priorities[at - 1] = pair.priority
            merged[at - 1] = pair.id
    return n
