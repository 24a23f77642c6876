from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.common.python cimport PyObject
from fastbpe._core.decode.token_slots cimport Beginning, TokenSlot, Sums


cdef struct Item:
    # One text of a batch, or a part of one long text.
    PyObject** ints  # items of a list or tuple; NULL: a sequence of another type, which is not read here
    size_t n  # number of ids
    size_t first  # index of its first id in Decoding._ids
    bint is_read  # all ids have been read, and are tokens
    Sums sums
    Beginning beginning
    uint8_t* data  # characters of the str to fill; NULL: no str
    size_t width  # bytes of a character
    bint is_sound  # the str has been filled, and the bytes were UTF-8


cdef class Decoding:
    cdef object _owner  # keeps the slots alive
    cdef const TokenSlot* _slots  # the decoder's table
    cdef size_t _n_slots
    cdef object _sequences  # copies of the lists, kept alive while their items are read; only without a GIL
    cdef size_t _block_bytes  # working space of a thread, see fill_text()
    cdef uint32_t* _ids  # ids of all items, end to end
    cdef Item* items
    cdef size_t n_items
    cdef size_t* _starts  # task i is items _starts[i] to _starts[i + 1] - 1
    cdef size_t _n_tasks
    cdef size_t _next[2]  # by kind of work, READ or FILL: next task to take; atomic
    cdef size_t _n_done[2]  # number of tasks done; atomic
    cdef int _may_read  # flag: the calling thread holds the GIL, so the others may read
    cdef int _may_fill  # flag: the strs exist, so threads may fill them
    cdef int _over  # flag: no work is left, so threads return
    cdef size_t _n_there  # atomic: number of other threads that have started
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
    cdef void _run_tasks(self, int kind, uint8_t* block) noexcept nogil
    cdef void _wait_for_tasks(self, int kind) noexcept
    cdef void _read_item(self, Item* item) noexcept nogil
    cdef void _fill_item(self, Item* item, uint8_t* block) noexcept nogil


cdef bint fill_text(
    const TokenSlot* slots, const Ids* ids, const Beginning* beginning, const Sums* sums, uint8_t* block,
    size_t block_bytes, uint8_t* data, size_t width
) noexcept nogil


cdef Decoding new_decoding(object owner, const TokenSlot* slots, size_t n_slots, size_t block_bytes)
cdef list next_batch(object iterator, size_t* n_ids)
