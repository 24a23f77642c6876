"""The states that an attempt of the engine has tried: an open-addressing table of numbers other than 0."""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free

from fastbpe._core.common.hash_tables cimport FIBONACCI


cdef enum:
    TRIED_FIRST_SLOTS = 1 << 12
    TRIED_MAX_SLOTS = 1 << 20  # 8 MB; more is not remembered


cdef struct Tried:
    uint64_t* slots  # NULL: nothing is remembered
    size_t n
    size_t n_slots


cdef inline void tried_free(Tried* tried) noexcept nogil:
    free(tried.slots)
    tried.slots = NULL


cdef inline size_t tried_slot(const Tried* tried, uint64_t state) noexcept nogil:
    """Where the state is, or would be; the table is never full."""
    cdef size_t slot = <size_t> ((state * FIBONACCI) >> 32) & (tried.n_slots - 1)
    while tried.slots[slot] and tried.slots[slot] != state:
        slot = (slot + 1) & (tried.n_slots - 1)
    return slot


cdef inline bint tried_resize(Tried* tried, size_t n_slots) noexcept nogil:
    """Begin to remember, or make more room for it; False if there is no memory for that."""
    cdef uint64_t* old = tried.slots
    cdef size_t n_old = tried.n_slots if old != NULL else 0, i
    cdef uint64_t* slots = <uint64_t*> calloc(n_slots, sizeof(uint64_t))
    if slots == NULL:
        return False
    tried.slots = slots
    tried.n_slots = n_slots
    tried.n = 0
    for i in range(n_old):
        if old[i]:
            slots[tried_slot(tried, old[i])] = old[i]
            tried.n += 1
    free(old)
    return True


cdef inline bint tried_or_added(Tried* tried, uint64_t state) noexcept nogil:
    """Whether the state is there; it is from now on, unless the table has grown as large as it may."""
    cdef size_t slot = tried_slot(tried, state)
    if tried.slots[slot]:
        return True
    if 2 * tried.n >= tried.n_slots:
        if tried.n_slots >= TRIED_MAX_SLOTS or not tried_resize(tried, 4 * tried.n_slots):
            return False
        slot = tried_slot(tried, state)
    tried.slots[slot] = state
    tried.n += 1
    return False
