from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.cache cimport MOST_HOLES, Cache, Hole
from fastbpe._core.keys cimport SHORT_BYTES
from fastbpe._core.merge cimport Ids
from fastbpe._core.merging cimport MOST_BYTES, MOST_PIECES, Merging
from fastbpe._core.vocabulary cimport Tables


cdef inline bint may_wait(const Tables* tables, size_t length) noexcept nogil:
    """Whether a new piece of so many bytes is merged side by side with others."""
    return length <= MOST_BYTES and tables.byte_keys != NULL


cdef inline uint32_t meet(Cache* cache, const uint8_t* piece, size_t length) noexcept nogil:
    """Add a new piece, of a short one its key; its number, for which a hole is to be left next."""
    cdef uint32_t number = <uint32_t> cache.n_newcomers
    cdef Merging* newcomer = &cache.newcomers[number]
    memcpy(newcomer.bytes, piece, SHORT_BYTES + 1 if length <= SHORT_BYTES else length)
    newcomer.piece, newcomer.n_bytes = newcomer.bytes, <uint32_t> length
    cache.n_newcomers = number + 1
    return number


cdef inline int leave_hole(Cache* cache, const Tables* tables, uint32_t newcomer, Ids* out) except -1 nogil:
    """Have a newcomer's ids follow, sooner or later. There is room for one more newcomer afterwards."""
    cdef Hole* hole = &cache.holes[cache.n_holes]
    hole.place, hole.mark, hole.newcomer = out.n, NULL, newcomer
    cache.n_holes += 1
    if cache.n_newcomers == MOST_PIECES or cache.n_holes == MOST_HOLES:
        settle(cache, tables, out)
    return 0


cdef int leave_mark(Cache* cache, const Tables* tables, size_t* mark, Ids* out) except -1 nogil
cdef int settle(Cache* cache, const Tables* tables, Ids* out) except -1 nogil
cdef void give_up(Cache* cache, const Tables* tables) noexcept nogil
