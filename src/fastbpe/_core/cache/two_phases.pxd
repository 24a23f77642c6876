from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary
from fastbpe._core.split.splitter cimport Ends

cdef struct Phases:
    # Views of memory that is owned by a TwoPhases.
    const Tables* words  # tokens of the first phase
    const Tables* superwords  # merges of the second phase
    bint joins_pieces  # the merges join whole pieces; otherwise ids within a piece
    const uint8_t* inside  # by first byte << 8 | second byte: 1 if some token of the first phase has both in a row
    const uint32_t* n_bytes  # by id of the first phase
    const uint64_t* joins  # bits by join_bit(): 0 if the two ids are adjacent in no superword
    uint32_t shift  # 64 - log2 of the number of bits in joins
    const uint8_t* borders  # by border_of(): 0 if no superword has such a border between two pieces


cdef class TwoPhases:
    cdef Vocabulary words
    cdef readonly Vocabulary superwords
    cdef readonly bint joins_pieces
    cdef Phases phases
    cdef bytes _inside
    cdef uint8_t* _borders
    cdef uint32_t* _n_bytes
    cdef uint64_t* _joins
    cdef int _fill_joins(self, const uint64_t* pairs, size_t n) except -1
    cdef int _add_members(self, members) except -1
    cdef int _add_border(self, uint32_t left, uint32_t right) except -1


cdef int encode_words(
    const Phases* phases, Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends,
    Ends* words, Ids* out,
) except -1 nogil


cdef inline size_t join_bit(const Phases* phases, uint32_t left, uint32_t right) noexcept nogil:
    """Index of the bit of two neighbouring ids; other pairs may share it."""
    return <size_t> ((<uint64_t> left << 32 | right) * GOLDEN_RATIO >> phases.shift)


cdef inline bint may_join(const Phases* phases, uint32_t left, uint32_t right) noexcept nogil:
    """Tell whether two ids of the first phase may be adjacent in a superword. A wrong True only costs time."""
    cdef size_t bit = join_bit(phases, left, right)
    return phases.joins[bit >> 6] >> (bit & 63) & 1
