from libc.stdint cimport int64_t, uint8_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.train.piece_table cimport PieceTable


cdef class SentenceStore:
    cdef Buffer _text  # sentences, end to end
    cdef size_t* _ends  # of each
    cdef int64_t* _counts  # how often each occurs
    cdef readonly size_t n
    cdef size_t _capacity
    cdef bint _split_by_whitespace, _treat_whitespace_as_suffix, _allow_whitespace_only_pieces
    cdef int add(self, const uint8_t* text, size_t n, int64_t count) except -1 nogil
    cdef size_t _start(self, size_t i) noexcept nogil
    cdef size_t _word_end(self, size_t at, size_t end) noexcept nogil
    cdef int _add_words(self, PieceTable words, size_t i) except -1 nogil
    cdef int _add_units(self, PieceTable units, size_t i, int64_t count, uint8_t behind) except -1 nogil
