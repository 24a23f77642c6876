from libc.stdint cimport uint32_t

from fastbpe._core.common.free_threading cimport Lock
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.decode.token_slots cimport LongToken, TokenSlot, Sums
from fastbpe._core.merge.vocabulary cimport Vocabulary


# Rules for ids that are not a token (unknown_ids=): raise an error, skip them, or replace each with U+FFFD.
cdef enum:
    RAISE, SKIP, REPLACE


cdef class IdReader:
    cdef Vocabulary _vocabulary
    cdef dict _special  # bytes of special tokens by id
    cdef uint32_t _n_ids  # one more than the greatest id
    # Made at the first use, so that loading stays fast; valid once _has_slots is set.
    cdef TokenSlot* _slots  # by id, and U+FFFD at _n_ids
    cdef LongToken* _long  # tokens that do not fit into their slot
    cdef size_t _longest  # bytes of the longest token
    cdef int _has_slots  # atomic
    cdef Lock _lock  # held while the slots are made
    cdef bint _takes_bools  # accept bools as the ids 0 and 1, like the libraries that drop-ins replace
    cdef int _make_slots(self) except -1
    cdef object _unknown(self, object token_id, Py_ssize_t position)
    cdef int _read(self, object ids, Ids* out, Sums* sums, int unknown) except -1
    cdef int _read_items(self, object items, Ids* out, Sums* sums, int unknown) except -1
    cdef int _read_buffer(self, object ids, Ids* out, Sums* sums, int unknown) except -1
    cdef void _add_replacement(self, Ids* out, Sums* sums) noexcept nogil


cdef int unknown_rule(object unknown_ids) except -1
cdef object as_int(object item, Py_ssize_t position, bint takes_bools)
