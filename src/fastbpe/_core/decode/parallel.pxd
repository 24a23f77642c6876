from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.decode.token_slots cimport Head, Slot, Sums


cdef struct Item:
    # Ids of one text.
    PyObject** ints  # of a list or tuple; NULL: they are something else, and not read here
    size_t n
    size_t first  # their place among the ids of all
    bint is_read  # all of them are tokens
    Sums sums
    Head head
    uint8_t* data  # of the str that is to be filled; NULL: none
    size_t width  # of its characters, in bytes
    bint is_sound  # it was UTF-8


cdef class Decoding:
    cdef object _owner  # of the slots
    cdef const Slot* _slots
    cdef size_t _n_slots
    cdef size_t _block_bytes
    cdef uint32_t* _ids
    cdef Item* items
    cdef size_t n_items
    cdef size_t* _starts  # of the tasks, which are runs of items, and the end of the last
    cdef size_t _n_tasks
    cdef size_t _next[2]  # task to read and to fill
    cdef size_t _n_done[2]
    cdef int _may_read
    cdef int _may_fill
    cdef int _over
    cdef size_t _n_there  # threads that have come; under the GIL
    cdef int invite(self, int n_threads) except -1
    cdef int read(self, list sequences) except -1
    cdef bint read_parts(self, object sequence, Ids* ids, Sums* sums) except -1
    cdef void lay_out(self, uint8_t* data, size_t width, uint32_t tags) noexcept
    cdef bint is_sound(self) noexcept
    cdef int fill(self) except -1
    cdef Ids ids_of(self, const Item* item) noexcept
    cdef void end(self) noexcept
    cdef int _take_memory(self, size_t n_ids, size_t n_items) except -1
    cdef int _read_all(self) except -1
    cdef void _plan(self, list sequences) noexcept
    cdef void _begin_at_character(self, Item* item) noexcept
    cdef void _do(self, int kind, uint8_t* block) noexcept nogil
    cdef void _finish(self, int kind) noexcept
    cdef void _read_item(self, Item* item) noexcept nogil
    cdef void _fill_item(self, Item* item, uint8_t* block) noexcept nogil


cdef bint fill_text(
    const Slot* slots, const Ids* ids, const Head* head, const Sums* sums, uint8_t* block, size_t block_bytes,
    uint8_t* data, size_t width
) noexcept nogil


cdef Decoding new_decoding(object owner, const Slot* slots, size_t n_slots, size_t block_bytes)
