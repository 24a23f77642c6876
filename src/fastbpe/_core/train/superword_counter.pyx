"""Count the runs of ids from which SuperBPE learns superwords: the ids of a piece after the first phase."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.two_phases cimport TwoPhases, encode_words
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, ends_free
from fastbpe._core.train.run_counter cimport RunCounter


@cython.final
cdef class SuperwordCounter(RunCounter):
    """Counter of neighbours or of runs of ids in pieces.

    phases: TwoPhases – with the tokens of the first phase. Its joins are not used.
    The other arguments are those of RunCounter; the splitter makes the pieces of the second phase.
    """

    cdef readonly TwoPhases phases
    cdef Ends _words

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
        self._find_beside(start, ends, n_ends)
        return self._count_beside()

    cdef int _find_beside(self, size_t at, const size_t* ends, size_t n_ends) except -1 nogil:
        """Copy the ids, with a NONE after each piece. at: start of the first piece."""
        cdef const uint32_t* n_bytes = self.phases.phases.n_bytes
        cdef const uint32_t* ids = self._ids.items
        cdef uint32_t* to
        cdef size_t i = 0, k, end
        self._beside.n = 0
        ids_reserve(&self._beside, self._ids.n + n_ends)
        to = self._beside.items
        for k in range(n_ends):
            end = ends[k] & ~UNMATCHED
            if ends[k] & UNMATCHED:
                at = end
            while at < end and i < self._ids.n:
                at += n_bytes[ids[i]]
                to[0] = ids[i]
                to += 1
                i += 1
            to[0] = NONE
            to += 1
        self._beside.n = to - self._beside.items
        return 0
