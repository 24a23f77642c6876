"""Learn merges over several languages, as tokenizers' ParityBpeTrainer does (Foroutan et al., arXiv 2508.04796).

Each step chooses a language, takes the best pair of its words, and merges it in all languages. Every language is a
`Corpus` with its own counts and queue; ids are shared. The cost of a step is proportional to the pair's
occurrences, plus one look-up per corpus, whereas the original reads all dev words in each step. Every merge is
applied to all corpora at once, so in each of them a pair gains no occurrences after the merge that creates it,
which merge_learner.pyx relies on. An index finds the pair that another corpus chose.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from fastbpe._core.train.byte_learner cimport Learner
from fastbpe._core.train.pair_table cimport PairIndex


cdef class Corpus(Learner):
    cdef TokenTexts _texts
    cdef bint _chooses
    cdef PairIndex _index
    cdef int64_t n_symbols  # current number of symbols of its text, with repetitions
    cdef uint32_t take(self) except? 0xFFFFFFFF nogil
    cdef uint32_t left(self, uint32_t pair) noexcept nogil
    cdef uint32_t right(self, uint32_t pair) noexcept nogil
    cdef int64_t count(self, uint32_t pair) noexcept nogil
    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) except -1 nogil
    cdef int64_t _n_merged(self, uint32_t pair, uint32_t merged) noexcept nogil
    cdef int _add_to_index(self, uint32_t first) except -1 nogil


cdef class TokenTexts:
    cdef uint8_t* _bytes  # bytes of all texts, end to end
    cdef size_t* _ends  # text i is _bytes[_ends[i]:_ends[i + 1]]
    cdef uint64_t* heads  # first 8 bytes of each text, zero-padded, as a number that sorts like the text
    cdef size_t _bytes_capacity, _ends_capacity, _heads_capacity
    cdef readonly uint32_t n
    cdef bytes _prefix
    cdef const uint8_t* _prefix_bytes
    cdef size_t _n_prefix
    cdef uint8_t* _place(self, size_t n_bytes) except NULL nogil
    cdef int _append(self, size_t n_bytes) except -1 nogil
    cdef int append_joined(self, uint32_t left, uint32_t right) except -1 nogil
    cdef int compare(self, uint32_t a, uint32_t b) noexcept nogil
