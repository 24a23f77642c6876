from libc.stdint cimport uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.decode.token_slots cimport LongToken, Slot, Sums
from fastbpe._core.merge.vocabulary cimport Vocabulary


# What becomes of ids that are no token: an error, nothing, or U+FFFD.
cdef enum:
    RAISE, SKIP, REPLACE


cdef class IdReader:
    cdef Vocabulary _vocabulary
    cdef dict _special
    cdef uint32_t _n_ids
    cdef Slot* _slots  # made at the first use, so that loading costs nothing; the one at _n_ids is U+FFFD
    cdef LongToken* _long
    cdef size_t _longest  # token, in bytes
    cdef int _make_slots(self) except -1
    cdef object _unknown(self, object token_id, Py_ssize_t position)
    cdef int _read(self, object ids, Ids* out, Sums* sums, int unknown) except -1
    cdef int _read_items(self, object items, Ids* out, Sums* sums, int unknown) except -1
    cdef int _read_buffer(self, object ids, Ids* out, Sums* sums, int unknown) except -1


cdef int unknown_rule(object unknown_ids) except -1
cdef object as_int(object item, Py_ssize_t position)
