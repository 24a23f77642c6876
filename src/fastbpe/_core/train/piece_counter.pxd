from libc.stdint cimport uint8_t, uint64_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.train.piece_table cimport GROUP, CountedPiece, PieceTable
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.split.splitter cimport Ends, Splitter
from fastbpe._core.text.utf8_text cimport Text


cdef struct Probe:
    # A piece on its way: its key and the line of the table that it should be in; of a long one the hash, and a
    # key that is in no entry.
    uint64_t low
    uint64_t high
    CountedPiece* line


cdef class PieceCounter(PieceTable):
    cdef readonly Splitter splitter
    cdef Ends _ends
    cdef Buffer _utf8
    cdef uint8_t[32] _tail
    cdef Probe[GROUP] _probes
    cdef uint8_t[GROUP] _long_ones
    cdef int _add_views(self, Text* views, size_t n, SpecialMatcher special) except -1 nogil
    cdef int _units(self, const Text* text, size_t start, size_t end, SpecialMatcher special) except -1 nogil
    cdef int _stretch(self, const uint8_t* data, size_t n, SpecialMatcher special) except -1 nogil
    cdef int _count(self, const uint8_t* data, size_t n) except -1 nogil
    cdef void _aim(self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends) noexcept nogil
    cdef int _group(self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends) except -1 nogil
