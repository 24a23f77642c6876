from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.train.byte_learner cimport Learner
from fastbpe._core.train.pair_table cimport PairIndex
from fastbpe._core.train.token_texts cimport TokenTexts


cdef class Corpus(Learner):
    cdef TokenTexts _texts
    cdef bint _chooses
    cdef PairIndex _index
    cdef int64_t n_symbols  # of its text now, with repetitions
    cdef uint32_t take(self) except? 0xFFFFFFFF nogil
    cdef uint32_t left(self, uint32_t pair) noexcept nogil
    cdef uint32_t right(self, uint32_t pair) noexcept nogil
    cdef int64_t count(self, uint32_t pair) noexcept nogil
    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) except -1 nogil
    cdef int64_t _n_merged(self, uint32_t pair, uint32_t merged) noexcept nogil
    cdef int _add_to_index(self, uint32_t first) except -1 nogil
