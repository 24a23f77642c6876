"""Counters of the runs of ids from which superwords are learned: SuperBPE's and BoundlessBPE's.

SuperBPE's runs are the ids of a piece after the first phase. A run of BoundlessBPE is two or more neighbouring
pieces that are one token each, if these tokens may be part of a superword.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.cache.two_phases cimport TwoPhases, encode_words
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary, token_length
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, ends_free
from fastbpe._core.train.run_counter cimport RunCounter


@cython.final
cdef class SuperwordCounter(RunCounter):
    """Counter of neighbours or of runs of ids in pieces.

    phases: TwoPhases – with the tokens of the first phase. Its joins are not used.
    RunCounter explains the other arguments. The splitter makes the pieces of the second phase.
    """

    cdef readonly TwoPhases phases
    cdef Ends _words  # ends of the words of the pieces, as encode_words() finds them

    def __cinit__(self, *args, TwoPhases phases not None, **kwargs):
        self.phases = phases

    def __dealloc__(self):
        ends_free(&self._words)

    cdef int count_pieces(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) except -1 nogil:
        """Count neighbours or runs in the pieces of a text. Arguments as in PieceCounter.count_pieces()."""
        encode_words(
            &self.phases.phases, &self._cache, data, n, start, ends, n_ends, &self._words, &self._ids
        )
        self._separate_ids(start, ends, n_ends)
        return self._count_separated()

    cdef int _separate_ids(self, size_t at, const size_t* ends, size_t n_ends) except -1 nogil:
        """Copy the ids, with a NONE after each piece. at: start of the first piece.

        The tokens of a piece have exactly its bytes: a token exists for each byte of UTF-8 (`runs.check_base`).
        """
        cdef const uint32_t* n_bytes = self.phases.phases.n_bytes
        cdef const uint32_t* ids = self._ids.items
        cdef uint32_t* to
        cdef size_t i = 0, k, end
        self._separated.n = 0
        ids_reserve(&self._separated, self._ids.n + n_ends)
        to = self._separated.items
        for k in range(n_ends):
            end = ends[k] & ~UNMATCHED
            if ends[k] & UNMATCHED:
                at = end
            while at < end:
                at += n_bytes[ids[i]]
                to[0] = ids[i]
                to += 1
                i += 1
            to[0] = NONE
            to += 1
        self._separated.n = to - self._separated.items
        return 0


@cython.final
cdef class WordRunCounter(RunCounter):
    """Counter of neighbours or of runs of whole words.

    words: Vocabulary – the tokens of words.
    members: bytes – by id: 1 if a run may have this token.
    RunCounter explains the other arguments. The splitter must have no safe cuts, because runs of words cross
    them.
    """

    cdef readonly Vocabulary words
    cdef bytes _owner
    cdef const uint8_t* _members  # by id: 1 if a run may have it

    def __cinit__(self, *args, Vocabulary words not None, bytes members not None, **kwargs):
        if <size_t> PyBytes_GET_SIZE(members) != words.tables.n_ids:
            raise ValueError(f"{len(members)} members for {words.n_ids} ids")
        if self.splitter.cuttable:
            raise ValueError("the splitter must have no safe cuts, because runs of words cross them")
        self.words, self._owner = words, members
        self._members = <const uint8_t*> PyBytes_AS_STRING(members)

    cdef int _count_between_tokens(self, const uint8_t* data, size_t n) except -1 nogil:
        """Count the runs of a text, all its pieces at once: a run may be longer than a group of pieces."""
        cdef size_t at = 0
        self._ends.n = 0
        while at < n:
            at = self.splitter.split(data, n, at, &self._ends)
            check_signals(&self._watch)
        self._ids.n = 0
        encode_pieces(
            &self._cache, &self.words.tables, data, n, 0, self._ends.items, self._ends.n, &self._ids
        )
        self._separate_ids()
        self._count_separated()
        self.position += n
        return 0

    cdef int _separate_ids(self) except -1 nogil:
        """List the members among the ids, with a NONE for any text between two of them."""
        cdef const Tables* tables = &self.words.tables
        cdef const uint32_t* ids = self._ids.items
        cdef uint32_t* kept
        cdef size_t i = 0, k, at = 0, end, n_kept = 0
        self._separated.n = 0
        ids_reserve(&self._separated, 2 * self._ids.n + 1)
        kept = self._separated.items
        for k in range(self._ends.n):
            end = self._ends.items[k] & ~UNMATCHED
            if self._ends.items[k] & UNMATCHED:
                at = end
            elif token_length(tables, ids[i]) == end - at and self._members[ids[i]]:
                # The whole piece is one token.
                kept[n_kept] = ids[i]
                n_kept += 1
                i += 1
                at = end
                continue
            while at < end:
                at += token_length(tables, ids[i])
                i += 1
            if n_kept and kept[n_kept - 1] != NONE:
                kept[n_kept] = NONE
                n_kept += 1
        self._separated.n = n_kept
        return 0
