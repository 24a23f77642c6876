"""Keeping ids out of untrusted text that merging made of it all the same."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t

from fastbpe._core.common.id_buffer cimport Ids, ids_reserve


@cython.final
cdef class Guard:
    """Replaces ids by others. spelled: an id, to the list of ids that take its place."""

    def __cinit__(self, dict spelled not None):
        marks = bytearray(max(spelled, default=-1) + 1)
        for token_id in spelled:
            marks[token_id] = 1
        self._spelled = spelled
        self._marks = bytes(marks)

    cdef int replace(self, Ids* ids, size_t start) except -1:
        """Replace, from a place on. Of most texts nothing is replaced, which a look at each id tells."""
        cdef const uint8_t* marks = <const uint8_t*> PyBytes_AS_STRING(self._marks)
        cdef size_t i, n_marks = <size_t> len(self._marks)
        cdef list out
        if n_marks == 0:
            return 0
        for i in range(start, ids.n):
            if ids.items[i] < n_marks and marks[ids.items[i]]:
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
