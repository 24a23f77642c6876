from libc.stdint cimport int64_t, uint8_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.train.sentence_store cimport SentenceStore
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, Normalizer
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.train.text_views cimport TextViews
from fastbpe._core.common.interrupts cimport Watch


cdef class WordCounter:
    cdef readonly PieceCounter words
    cdef SentenceStore _store
    cdef size_t _n_normalized  # bytes of sentences since the store was created
    cdef bint _keeps_sentences, _keeps_last_words  # in the store
    cdef bint _marks_ends, _counts_words
    cdef readonly size_t n_bytes  # bytes of text read
    cdef readonly size_t n_sentences, n_empty, n_too_long  # sentences that are kept; left out as empty, or too long
    cdef readonly size_t n_reserved  # sentences that are left out because they contain U+2585
    cdef readonly size_t n_bytes_left_out  # bytes of too long and reserved sentences, without line endings
    cdef readonly size_t n_ends_left_out  # line endings after those sentences
    cdef Normalizer _normalizer
    cdef SpecialMatcher _symbols
    cdef tuple _owners  # objects that own the next two
    cdef const uint8_t* _delimiter
    cdef const uint8_t* _classes
    cdef size_t _n_delimiter
    cdef uint8_t _letters  # the class that all ASCII letters share; 0: they have several, or are ALONE or INHERITED
    cdef size_t _max_bytes
    cdef bint _split_by_whitespace, _treat_whitespace_as_suffix, _allow_whitespace_only_pieces
    cdef bint _has_counts, _is_checked
    cdef Normalized _line  # the last normalized sentence
    cdef uint8_t* _block  # normalized sentences, end to end
    cdef size_t _n_block, _block_capacity
    cdef size_t* _ends  # ends of the words in the block
    cdef size_t _n_ends, _ends_capacity
    cdef Buffer _utf8
    cdef int _busy  # atomic
    cdef int _abandoned
    cdef Watch _watch
    cdef int _enter(self) except -1
    cdef int _add_texts(self, TextViews views, bint has_lines) except -1
    cdef int _read(self, TextViews views, size_t i, size_t start, size_t end, bint has_lines) except -1 nogil
    cdef int _add_lines(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int _add_sentence(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int64_t _normalize(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int64_t _split_off_count(self, const uint8_t* data, size_t* n) except -1 nogil
    cdef int _add_line(self, int64_t count) except -1 nogil
    cdef int _add_written(self, size_t n, int64_t count) except -1 nogil
    cdef size_t _write_boundaries(self, const uint8_t* data, size_t n, uint8_t* out) noexcept nogil
    cdef int _reserve(self, size_t n) except -1 nogil
    cdef void _find_ends(self, size_t start) noexcept nogil
    cdef bint _is_word_start(self, uint8_t before, uint8_t here) noexcept nogil
    cdef int _flush(self, int64_t count) except -1 nogil
