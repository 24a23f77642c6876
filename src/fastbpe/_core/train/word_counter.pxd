from libc.stdint cimport int64_t, uint8_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, Normalizer
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text
from fastbpe._core.common.interrupts cimport Watch


cdef class WordCounter:
    cdef readonly PieceCounter words
    cdef readonly size_t n_bytes  # of text that was read
    cdef readonly size_t n_sentences, n_empty, n_too_long, n_reserved
    cdef readonly size_t n_bytes_left_out  # of sentences that are too long or reserved, without line ends
    cdef readonly size_t n_ends_left_out  # the line ends behind those
    cdef Normalizer _normalizer
    cdef SpecialMatcher _symbols
    cdef tuple _owners  # of what the next two point to
    cdef const uint8_t* _delimiter
    cdef const uint8_t* _classes
    cdef size_t _n_delimiter
    cdef uint8_t _letters  # the class of all ASCII letters; 0: they have several, or do not care
    cdef size_t _max_bytes
    cdef bint _splits, _suffix, _runs, _has_counts, _is_checked
    cdef Normalized _line
    cdef uint8_t* _block  # normalised sentences, one after another
    cdef size_t _n_block, _block_capacity
    cdef size_t* _ends  # of the words in it
    cdef size_t _n_ends, _ends_capacity
    cdef Buffer _utf8
    cdef bint _busy
    cdef int _abandoned
    cdef Watch _watch
    cdef int _enter(self) except -1
    cdef int _read(self, const Text* text, size_t start, size_t end, bint has_lines) except -1 nogil
    cdef int _lines(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int _sentence(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int64_t _normalised(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int64_t _count_of_line(self, const uint8_t* data, size_t* n) except -1 nogil
    cdef int _add(self, int64_t count) except -1 nogil
    cdef size_t _replaced(self, const uint8_t* data, size_t n, uint8_t* out) noexcept nogil
    cdef int _make_room(self, size_t n) except -1 nogil
    cdef void _cut(self, size_t start) noexcept nogil
    cdef bint _begins(self, uint8_t before, uint8_t here) noexcept nogil
    cdef int _flush(self, int64_t count) except -1 nogil
