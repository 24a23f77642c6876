"""Visited states of one match attempt of the regex engine: a hash table of non-zero numbers with linear probing.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free

from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO


cdef enum:
    VISITED_MIN_SLOTS = 1 << 12  # slots of the first table: 32 KB
    VISITED_MAX_SLOTS = 1 << 20  # limit on slots: 8 MB; further states are not recorded


cdef struct VisitedStates:
    uint64_t* slots  # 0: an empty slot; NULL: nothing is recorded yet
    size_t n
    size_t n_slots


cdef inline void visited_free(VisitedStates* visited) noexcept nogil:
    """Forget all states."""
    free(visited.slots)
    visited.slots = NULL


cdef inline size_t visited_slot(const VisitedStates* visited, uint64_t state) noexcept nogil:
    """Return the slot of a state, or the empty slot for it.

    Requires: the table is not full.
    """
    cdef size_t slot = <size_t> ((state * GOLDEN_RATIO) >> 32) & (visited.n_slots - 1)
    while visited.slots[slot] and visited.slots[slot] != state:
        slot = (slot + 1) & (visited.n_slots - 1)
    return slot


cdef inline bint visited_resize(VisitedStates* visited, size_t n_slots) noexcept nogil:
    """Create the table, or move to one of n_slots, a power of two; return False if out of memory."""
    cdef uint64_t* old = visited.slots
    cdef size_t n_old = visited.n_slots if old != NULL else 0, i
    cdef uint64_t* slots = <uint64_t*> calloc(n_slots, sizeof(uint64_t))
    if slots == NULL:
        return False
    visited.slots = slots
    visited.n_slots = n_slots
    visited.n = 0
    for i in range(n_old):
        if old[i]:
            slots[visited_slot(visited, old[i])] = old[i]
            visited.n += 1
    free(old)
    return True


cdef inline bint visit(VisitedStates* visited, uint64_t state) noexcept nogil:
    """Tell whether a state was visited, and record it unless the table is full."""
    cdef size_t slot = visited_slot(visited, state)
    if visited.slots[slot]:
        return True
    if 2 * visited.n >= visited.n_slots:
        if visited.n_slots >= VISITED_MAX_SLOTS or not visited_resize(visited, 4 * visited.n_slots):
            return False
        slot = visited_slot(visited, state)
    visited.slots[slot] = state
    visited.n += 1
    return False
