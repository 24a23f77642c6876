from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.hashing cimport mix
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.split.splitter cimport Ends
from fastbpe._core.train.piece_counter cimport PieceCounter


cdef class NeighbourCounts:
    cdef size_t* counts
    cdef uint8_t* seen  # by id: 1 if it occurs in a text
    cdef uint32_t shift  # 64 - log2 of the number of counts
    cdef readonly size_t n_ids
    cdef public size_t weight


cdef class RunCounter(PieceCounter):
    cdef readonly NeighbourCounts neighbours
    cdef size_t _least  # the argument `least`
    cdef bint _by_pairs  # every pair of neighbours is a run
    cdef Cache _cache  # cache of words
    cdef Ids _ids  # ids of words
    cdef Ids _separated  # ids of a text, with a NONE between two ids that are not neighbours
    cdef Buffer _runs  # runs of these ids, as keys end to end
    cdef Ends _run_ends
    cdef int _count_separated(self) except -1 nogil
    cdef uint8_t* _end_run(self, uint8_t* to, size_t n_in_run) except NULL nogil


cdef inline size_t slot_of(uint32_t left, uint32_t right, uint32_t shift) noexcept nogil:
    """Position of the count of two neighbours."""
    return <size_t> (mix(<uint64_t> left << 32 | right) >> shift)
