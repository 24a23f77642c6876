from libc.stdint cimport uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.decode.token_slots cimport Beginning, Sums, TokenSlot


cdef class FirstForms:
    cdef dict _known  # by id; nothing is ever removed
    cdef object _find
    cdef bytes form(self, uint32_t token_id)


cdef int find_left_out(
    const TokenSlot* slots, const Ids* ids, bint strips_all, frozenset space_keepers, Beginning* beginning
) except -1
cdef int find_first_form(
    const TokenSlot* slots, uint64_t n_slots, const Ids* ids, FirstForms firsts, Sums* sums, Beginning* beginning
) except -1
