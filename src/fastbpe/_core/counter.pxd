from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.special cimport SpecialMatcher
from fastbpe._core.splitter cimport Ends, Splitter


cdef struct PieceCount:
    int64_t count
    uint64_t start  # of the piece in the arena
    uint32_t n_bytes


cdef struct CountSlot:
    uint32_t tag
    uint32_t index  # into the pieces; NONE: empty


cdef class PieceCounter:
    cdef readonly Splitter splitter
    cdef uint8_t* arena
    cdef size_t n_arena
    cdef size_t _arena_capacity
    cdef PieceCount* pieces
    cdef size_t n_pieces
    cdef size_t _pieces_capacity
    cdef CountSlot* _slots
    cdef size_t _mask
    cdef Ends _ends
    cdef uint64_t _seed
    cdef bint _busy
    cdef int _enter(self) except -1
    cdef int _count(self, const uint8_t* data, size_t n) except -1 nogil
    cdef int _text(self, const uint8_t* data, size_t n, SpecialMatcher special) except -1 nogil
    cdef int _piece(self, const uint8_t* data, size_t n, int64_t count) except -1 nogil
    cdef int _grow(self) except -1 nogil
    cdef int _new_piece(self, const uint8_t* data, size_t n, int64_t count) except -1 nogil
