from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef struct Waiting:
    # A pair in the priority queue.
    uint64_t key  # priority << 32 | position: the lowest is the best pair, leftmost on ties
    # Resulting symbol. It tells apart the pairs at one position, because each pair that is queued there later spells a
    # longer text.
    uint32_t merged


cdef struct Link:
    # A symbol in the linked list. Positions are byte offsets in the piece, or indices in a piece of characters.
    uint32_t id  # NONE: merged into the symbol before it
    uint32_t previous  # position of the symbol before it; NONE: it is the first
    uint32_t next  # position of the symbol after it; NONE: it is the last
    uint32_t merged  # result of merging it with the next symbol; NONE: no pair, or one that was dropped for good


cdef struct Dropout:
    # State of merge_with_dropout(). Set rate and state, and all else to 0; free with dropout_free().
    double rate  # probability with which a pair is dropped, 0 to 1
    uint64_t state  # state of the random number generator, SplitMix64; initially the seed
    int* abandoned  # flag that another thread sets once the ids are no longer needed; NULL: no flag
    const uint32_t* makers  # by id, the two ids of the only pair that may make it; NULL: any pair may
    Waiting* heap  # priority queue, a binary heap
    size_t n_heap
    size_t heap_capacity
    Waiting* dropped  # pairs dropped since the last pair that was not; not with code points
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
