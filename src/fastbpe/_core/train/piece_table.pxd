from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.common.interrupts cimport Watch
from fastbpe._core.train.sorting cimport PieceCount

cdef enum:
    GROUP_PIECES = 128  # pieces looked up together, so that prefetched memory has arrived when it is read


cdef struct CountedPiece:
    # Entry of a short piece.
    uint64_t low  # halves of its key: see piece_keys.pxd
    uint64_t high  # 0: an empty entry
    int64_t count
    uint32_t index  # index in PieceTable.pieces


cdef struct LongSlot:
    uint32_t tag  # high half of the hash: if it differs, so do the pieces, and their bytes are not read
    uint32_t index  # index in PieceTable.pieces; NONE: an empty slot


cdef class PieceTable:
    cdef uint8_t* arena  # bytes of all pieces
    cdef readonly size_t n_arena
    cdef size_t _arena_capacity
    cdef PieceCount* pieces
    cdef readonly size_t n_pieces
    cdef size_t _pieces_capacity
    cdef CountedPiece* _entries  # table of short pieces, aligned to cache lines inside _entries_block
    cdef void* _entries_block
    cdef size_t _n_entries, _entries_bytes  # number of entries; bytes of _entries_block
    cdef uint32_t _shift  # a hash >> _shift is the number of its cache line in _entries
    cdef size_t _n_short
    cdef LongSlot* _slots  # table of long pieces
    cdef size_t _n_slots
    cdef size_t _n_long
    cdef uint64_t _seed
    cdef uint64_t position  # position of the next piece, in the order of PieceCount.first
    cdef readonly size_t n_bytes  # bytes of text counted
    cdef size_t _limit
    cdef object _spill
    cdef int _busy  # atomic
    cdef bint _is_settled
    cdef bint _is_sorted
    cdef int _abandoned
    cdef Watch _watch
    cdef int _enter(self) except -1
    cdef int add_counted(self, const uint8_t* data, size_t n, uint64_t first, int64_t count) except -1 nogil
    cdef int _add_group(self, PieceTable other, size_t start, size_t n, uint64_t shift) except -1 nogil
    cdef int _add_short(
        self, const uint8_t* data, size_t n, uint64_t low, uint64_t high, uint64_t first, int64_t count
    ) except -1 nogil
    cdef int _add_long(
        self, const uint8_t* data, size_t n, uint64_t hash, uint64_t first, int64_t count
    ) except -1 nogil
    cdef void _note_first(self, uint32_t index, uint64_t first) noexcept nogil
    cdef CountedPiece* _find_short(self, uint64_t low, uint64_t high) noexcept nogil
    cdef LongSlot* _find_long(self, const uint8_t* data, size_t n, uint64_t hash) noexcept nogil
    cdef int _append(self, const uint8_t* data, size_t n, uint64_t first, int64_t count) except -1 nogil
    cdef int reserve_group(self) except -1 nogil
    cdef int _grow_or_spill(self) except -1 nogil
    cdef int _resize_short_table(self, size_t n) except -1 nogil
    cdef int _rebuild_long_table(self, size_t n) except -1 nogil
    cdef int _build_tables(self) except -1 nogil
    cdef void _free_tables(self) noexcept nogil
    cdef void settle_counts(self) noexcept nogil
    cdef int64_t _count_of(self, const uint8_t* data, size_t n) except -1
