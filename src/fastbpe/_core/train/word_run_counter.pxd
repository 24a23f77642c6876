from libc.stdint cimport uint8_t

from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.train.run_counter cimport RunCounter


cdef class WordRunCounter(RunCounter):
    cdef readonly Vocabulary words
    cdef bytes _owner
    cdef const uint8_t* _members  # by id: 1 if a run may have it
    cdef int _find_beside(self) except -1 nogil
