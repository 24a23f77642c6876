from libc.stdint cimport int64_t, uint8_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.train.piece_table cimport PieceTable

cdef enum:
    SENTENCE_END = 0xFF  # after the last word of a sentence, when words are counted; UTF-8 never has this byte
    NO_SENTENCE = 0xFE  # used as the next sentence's first byte if no sentence follows; never in UTF-8 either


cdef class KnownCharacters:
    cdef uint8_t* _is_known  # by code point
    cdef int add(self, Buffer* out, const uint8_t* text, size_t n) except -1 nogil


cdef class SentenceStore:
    cdef Buffer text  # sentences, end to end
    cdef size_t* ends  # end of each sentence
    cdef int64_t* counts  # how often each occurs
    cdef readonly size_t n, n_empty
    cdef size_t _capacity
    cdef bint _split_by_whitespace, _treat_whitespace_as_suffix, _allow_whitespace_only_pieces
    cdef int add(self, const uint8_t* text, size_t n, int64_t count) except -1 nogil
    cdef size_t _start(self, size_t i) noexcept nogil
    cdef size_t _word_end(self, size_t at, size_t end) noexcept nogil
    cdef int _add_words(self, PieceTable words, size_t i) except -1 nogil
    cdef int _add_units(self, PieceTable units, size_t i, int64_t count, uint8_t behind) except -1 nogil
