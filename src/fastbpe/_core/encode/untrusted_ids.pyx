"""Guard of untrusted text: replaces ids that merging may still give it.

Special tokens are not looked for in untrusted text. But where the trained vocabulary has the same bytes as a
token, merging makes its id all the same.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t

from fastbpe._core.common.id_buffer cimport Ids, ids_reserve


@cython.final
cdef class Guard:
    """Replacer of ids by sequences of other ids.

    spelled: id to the list of ids that takes its place.
    """

    def __cinit__(self, dict spelled not None):
        is_replaced = bytearray(max(spelled, default=-1) + 1)
        for token_id in spelled:
            is_replaced[token_id] = 1
        self._spelled = spelled
        self._is_replaced = bytes(is_replaced)

    cdef int replace(self, Ids* ids, size_t start) except -1:
        """Replace ids from index start on. Most texts have no such ids: one pass over the ids finds out."""
        cdef const uint8_t* is_replaced = <const uint8_t*> PyBytes_AS_STRING(self._is_replaced)
        cdef size_t i, n_flags = <size_t> len(self._is_replaced)
        cdef list out
        if n_flags == 0:
            return 0
        for i in range(start, ids.n):
            if ids.items[i] < n_flags and is_replaced[ids.items[i]]:
                break
        else:
            return 0
        out = []
        for i in range(start, ids.n):
            out += self._spelled.get(ids.items[i], (ids.items[i],))
        ids.n = start
        ids_reserve(ids, <size_t> len(out))
        for token_id in out:
            ids.items[ids.n] = token_id
            ids.n += 1
        return 0
