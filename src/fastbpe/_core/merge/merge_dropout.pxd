from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef struct Waiting:
    # A pair that may be merged.
    uint64_t key  # priority << 32 | where it begins: the least is the best pair, leftmost on ties
    uint32_t merged  # what it makes; of a place, no two pairs that make the same ever wait


cdef struct Link:
    # A symbol, at the place of its first byte.
    uint32_t id  # NONE once it was merged into its left neighbour
    uint32_t previous
    uint32_t next
    uint32_t merged  # what it makes with the next one; NONE: nothing, or that pair was dropped


cdef struct Dropout:
    # All zero but for what is asked for at first; freed with dropout_free.
    double rate  # the probability with which a pair whose turn has come is left alone for good
    uint64_t state  # of the random numbers
    Waiting* heap
    size_t n_heap
    size_t heap_room
    Link* links
    size_t links_room


cdef int merge_with_dropout(
    const Tables* tables, const uint8_t* piece, size_t n, Dropout* dropout, Ids* out
) except -1 nogil
cdef void dropout_free(Dropout* dropout) noexcept nogil
