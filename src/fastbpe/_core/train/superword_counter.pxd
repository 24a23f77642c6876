from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.split.splitter cimport Ends
from fastbpe._core.train.run_counter cimport RunCounter


cdef class SuperwordCounter(RunCounter):
    cdef readonly TwoPhases phases
    cdef Ends _words
    cdef int _find_beside(self, size_t start, const size_t* ends, size_t n_ends) except -1 nogil
