"""Guard of untrusted text: replaces special ids that merging may still produce.

Special tokens are not searched for in untrusted text. But if the trained vocabulary contains a special token,
merging still produces its id.
"""

cimport cython
from libc.stdint cimport uint8_t

from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.common.python cimport PyBytes_AS_STRING


@cython.final
cdef class Guard:
    """Replacer of ids by sequences of other ids.

    spelled: maps an id to the list of ids that replaces it.
    """

    def __cinit__(self, dict spelled not None):
        is_replaced = bytearray(max(spelled, default=-1) + 1)
        for token_id in spelled:
            is_replaced[token_id] = 1
        self._spelled = spelled
        self._is_replaced = bytes(is_replaced)

    cdef int replace(self, Ids* ids, size_t start) except -1:
        """Replace ids from index start on. Most texts have no such ids, which one pass over the ids detects."""
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
