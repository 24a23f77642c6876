from libc.stdint cimport uint8_t

from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.encode.codepoint_spans cimport Widths
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizing
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.split.stages cimport Stage


cdef class PieceSteps:
    # __cinit__ sets these; they do not change afterwards.
    cdef Vocabulary vocabulary
    cdef Splitter splitter
    cdef Normalizing normalizing
    cdef Stage stages
    cdef Stage cut_stages  # the same stages, with pieces cut where no merge crosses
    cdef TwoPhases phases
    cdef bint joins_pieces  # superwords join whole pieces
    cdef bint is_sentence  # the best path through a piece may depend on the pieces before it
    cdef Tables traced  # tables of the vocabulary, with a spelling that traces; only for characters
    # Made when spans of code points are first requested; see widths_of_ids().
    cdef Widths widths
    cdef int _has_widths  # atomic

    cdef Widths widths_of_ids(self)
    cdef int find_symbols(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int trace_symbols(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int encode_normalized(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int _read_as_sentencepiece(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int split_and_merge(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int _split_runs(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int _merge(
        self, const uint8_t* data, size_t n, size_t start, size_t end, Scratch* scratch
    ) except -1 nogil
    cdef int _merge_with_dropout(
        self, const uint8_t* data, size_t start, size_t end, Scratch* scratch
    ) except -1 nogil
    cdef bint _drop_bytes(self, const uint8_t* data, size_t start, size_t end, Scratch* scratch) except -1 nogil
