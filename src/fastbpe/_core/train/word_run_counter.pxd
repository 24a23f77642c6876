from libc.stdint cimport uint8_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.split.splitter cimport Ends
from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.train.superword_counter cimport NeighbourCounts


cdef class WordRunCounter(PieceCounter):
    cdef readonly Vocabulary words
    cdef readonly NeighbourCounts neighbours
    cdef bytes _owner
    cdef const uint8_t* _members  # by id: 1 if a run may have it
    cdef size_t _least
    cdef Cache _cache
    cdef Ids _ids
    cdef Ids _kept  # those of members, with a NONE for what lies between
    cdef Buffer _runs  # runs of the text at hand, as keys
    cdef Ends _run_ends
    cdef int _keep_members(self) except -1 nogil
    cdef int _count_runs(self) except -1 nogil
    cdef uint8_t* _end_run(self, uint8_t* to, size_t n_in_run) except NULL nogil
