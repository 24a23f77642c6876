"""Count the runs of whole words from which BoundlessBPE learns superwords.

A run is two or more neighbouring pieces that are one token each, if these tokens may be part of a superword.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary, token_length
from fastbpe._core.split.splitter cimport UNMATCHED
from fastbpe._core.train.run_counter cimport RunCounter


@cython.final
cdef class WordRunCounter(RunCounter):
    """Counter of neighbours or of runs of whole words.

    words: Vocabulary – the tokens of words.
    members: bytes – by id: 1 if a run may have this token.
    The other arguments are those of RunCounter. The splitter has no safe cuts, because runs cross them.
    """

    cdef readonly Vocabulary words
    cdef bytes _owner
    cdef const uint8_t* _members  # by id: 1 if a run may have it

    def __cinit__(self, *args, Vocabulary words not None, bytes members not None, **kwargs):
        if <size_t> PyBytes_GET_SIZE(members) != words.tables.n_ids:
            raise ValueError(f"{len(members)} members for {words.n_ids} ids")
        if self.splitter.cuttable:
            raise ValueError("the splitter has safe cuts, which runs cross")
        self.words, self._owner = words, members
        self._members = <const uint8_t*> PyBytes_AS_STRING(members)

    cdef int _count_between_tokens(self, const uint8_t* data, size_t n) except -1 nogil:
        """Count the runs of a text, which no group of pieces divides."""
        cdef size_t at = 0
        self._ends.n = 0
        while at < n:
            at = self.splitter.split(data, n, at, &self._ends)
            check_signals(&self._watch)
        self._ids.n = 0
        encode_pieces(
            &self._cache, &self.words.tables, data, n, 0, self._ends.items, self._ends.n, &self._ids
        )
        self._find_beside()
        self._count_beside()
        self.position += n
        return 0

    cdef int _find_beside(self) except -1 nogil:
        """List the members among the ids, with a NONE for any text between two of them."""
        cdef const Tables* tables = &self.words.tables
        cdef const uint32_t* ids = self._ids.items
        cdef uint32_t* kept
        cdef size_t i = 0, k, at = 0, end, n_kept = 0
        self._beside.n = 0
        ids_reserve(&self._beside, 2 * self._ids.n + 1)
        kept = self._beside.items
        for k in range(self._ends.n):
            end = self._ends.items[k] & ~UNMATCHED
            if self._ends.items[k] & UNMATCHED:
                at = end
            elif i < self._ids.n and token_length(tables, ids[i]) == end - at and self._members[ids[i]]:
                kept[n_kept] = ids[i]
                n_kept += 1
                i += 1
                at = end
                continue
            while at < end and i < self._ids.n:
                at += token_length(tables, ids[i])
                i += 1
            at = end
            if n_kept and kept[n_kept - 1] != NONE:
                kept[n_kept] = NONE
                n_kept += 1
        self._beside.n = n_kept
        return 0
