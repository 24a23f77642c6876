from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.hash_tables cimport mix
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.split.splitter cimport Ends
from fastbpe._core.train.piece_counter cimport PieceCounter


cdef enum:
    ID_BYTES = 3  # bytes of an id in the key of a run: a run of five ids is a short piece of the table
    IDS_AHEAD = 16  # distance, in ids, at which counts are prefetched
    CACHE_BYTES = 64 << 20  # of each counter's words


cdef class NeighbourCounts:
    cdef size_t* counts
    cdef uint8_t* seen  # by id: 1 if a text has it
    cdef uint32_t shift  # 64 - log2 of the number of counts
    cdef readonly size_t n_ids


cdef class SuperwordCounter(PieceCounter):
    cdef readonly TwoPhases phases
    cdef readonly NeighbourCounts neighbours
    cdef size_t _least
    cdef Cache _cache
    cdef Ends _words
    cdef Ids _ids
    cdef Buffer _runs  # runs of the pieces at hand, as keys
    cdef Ends _run_ends
    cdef int _count_neighbours(self) except -1 nogil
    cdef int _count_runs(self, size_t start, const size_t* ends, size_t n_ends) except -1 nogil


cdef inline size_t slot_of(const uint32_t* pair, uint32_t shift) noexcept nogil:
    """Position of the count of two neighbours."""
    return <size_t> (mix(<uint64_t> pair[0] << 32 | pair[1]) >> shift)
