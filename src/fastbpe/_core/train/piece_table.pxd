from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.common.interrupts cimport Watch

cdef enum:
    GROUP = 128  # pieces looked up together: what is prefetched arrives before it is read


cdef struct PieceCount:
    int64_t count  # of a short piece: true once the counter is settled
    uint64_t start  # of the piece in the arena
    uint64_t first  # where it was met first, in an order that all counters of one source share
    uint32_t n_bytes


cdef struct CountedPiece:
    # A short piece: its key (see keys.pxd), how often it was met, and which of the pieces it is.
    uint64_t low
    uint64_t high  # 0: an empty entry
    int64_t count
    uint32_t index


cdef struct LongSlot:
    uint32_t tag
    uint32_t index  # NONE: empty


cdef class PieceTable:
    cdef uint8_t* arena
    cdef readonly size_t n_arena
    cdef size_t _arena_capacity
    cdef PieceCount* pieces
    cdef readonly size_t n_pieces
    cdef size_t _pieces_capacity
    cdef CountedPiece* _entries
    cdef void* _entries_block
    cdef size_t _n_entries
    cdef uint32_t _shift  # a hash's top bits are the number of its line
    cdef size_t _n_short
    cdef LongSlot* _slots
    cdef size_t _n_slots
    cdef size_t _n_long
    cdef uint64_t _seed
    cdef uint64_t _position  # of what comes next, in the order of `first`
    cdef readonly size_t n_bytes  # of text that was counted
    cdef size_t _limit
    cdef object _spill
    cdef bint _busy
    cdef bint _is_settled
    cdef bint _is_sorted
    cdef int _abandoned
    cdef Watch _watch
    cdef int _enter(self) except -1
    cdef int _add(self, const uint8_t* data, size_t n, uint64_t first, int64_t count) except -1 nogil
    cdef int _add_group(self, PieceTable other, size_t start, size_t n, uint64_t shift) except -1 nogil
    cdef int _add_short(
        self, const uint8_t* data, size_t n, uint64_t low, uint64_t high, uint64_t first, int64_t count
    ) except -1 nogil
    cdef int _add_long(
        self, const uint8_t* data, size_t n, uint64_t hash, uint64_t first, int64_t count
    ) except -1 nogil
    cdef void _came_before(self, uint32_t index, uint64_t first) noexcept nogil
    cdef CountedPiece* _find_short(self, uint64_t low, uint64_t high) noexcept nogil
    cdef LongSlot* _find_long(self, const uint8_t* data, size_t n, uint64_t hash) noexcept nogil
    cdef int _append(self, const uint8_t* data, size_t n, uint64_t first, int64_t count) except -1 nogil
    cdef int _make_room(self) except -1 nogil
    cdef int _make_more_room(self) except -1 nogil
    cdef int _new_entries(self, size_t n) except -1 nogil
    cdef int _new_slots(self, size_t n) except -1 nogil
    cdef int _index(self) except -1 nogil
    cdef void _free_tables(self) noexcept nogil
    cdef void _settle(self) noexcept nogil
    cdef int _sort(self) except -1 nogil
    cdef int64_t _count_of(self, const uint8_t* data, size_t n) except -1
