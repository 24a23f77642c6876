from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef struct Waiting:
    # A pair in the priority queue.
    uint64_t key  # priority << 32 | position: the least is the best pair, leftmost on ties
    uint32_t merged  # symbol that it makes; no two pairs of one position in the queue make the same


cdef struct Link:
    # A symbol in the linked list. Positions are offsets in the piece, in bytes.
    uint32_t id  # NONE: merged into the symbol before it
    uint32_t previous  # position of the symbol before it; NONE: it is the first
    uint32_t next  # position of the symbol after it; NONE: it is the last
    uint32_t merged  # symbol that it makes with the next one; NONE: no pair, or one that was dropped for good


cdef struct Dropout:
    # State of merge_with_dropout(). Set rate and state, and all else to 0; give it back with dropout_free().
    double rate  # probability with which a pair is dropped, 0 to 1
    uint64_t state  # of the random number generator, SplitMix64; the seed at first
    int* abandoned  # flag that another thread sets when nobody wants the ids any more; NULL: nobody can
    const uint32_t* makers  # by id, the two ids of the only pair that may make it; NULL: any pair may
    Waiting* heap  # priority queue, a binary heap
    size_t n_heap
    size_t heap_capacity
    Waiting* dropped  # pairs that were dropped since the last one that was not; byte level only
    size_t n_dropped
    size_t dropped_capacity
    Link* links  # linked list, indexed by position
    size_t links_capacity


cdef double rate_of(object dropout) except -1
cdef int check_abandoned(int* abandoned) except -1
cdef int merge_with_dropout(
    const Tables* tables, const uint8_t* piece, size_t n, Dropout* dropout, Ids* out
) except -1 nogil
cdef void dropout_free(Dropout* dropout) noexcept nogil
