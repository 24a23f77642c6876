from libc.stdint cimport uint8_t, uint64_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.train.piece_table cimport GROUP_PIECES, CountedPiece, PieceTable
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.split.splitter cimport Ends, Splitter
from fastbpe._core.text.utf8_text cimport Text


cdef struct Probe:
    # A piece that will be looked up. low, high: its key; for a long piece, `low` is its hash and `high` a value
    # that no entry has.
    uint64_t low
    uint64_t high
    CountedPiece* line  # cache line of the table where the probe begins


cdef class PieceCounter(PieceTable):
    cdef readonly Splitter splitter
    cdef Ends _ends
    cdef Buffer _utf8
    cdef uint8_t[32] _tail  # copy of the text's last bytes: making a key there reads nothing past the text
    cdef Probe[GROUP_PIECES] _probes
    cdef uint8_t[GROUP_PIECES] _long_pieces  # indexes of the long pieces of a group
    cdef int count_pieces(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) except -1 nogil
    cdef int _count_units(self, const Text* text, size_t start, size_t end, SpecialMatcher special) except -1 nogil
    cdef int _count_utf8(self, const uint8_t* data, size_t n, SpecialMatcher special) except -1 nogil
    cdef int _count_between_tokens(self, const uint8_t* data, size_t n) except -1 nogil
    cdef void _prepare_probes(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) noexcept nogil
    cdef int _count_group(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) except -1 nogil
