"""Table of the ids of pieces, as in the folders of M2M100 and Marian.

In these models, sentencepiece cuts a text, and a table gives the id of each piece by its text. Pieces that the
table lacks become the unknown id. sentencepiece makes one piece of several unknown characters in a row, and the
table may have that piece.

Each piece and each such character that has no id of its own gets an id greater than all others. Only the steps
between merging and output see these ids, by which they find runs of unknown characters.
"""

cimport cython
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc

from fastbpe._core.text.special_tokens cimport SpecialMatcher


@cython.final
cdef class PieceIdTable:
    """Ids of pieces and of runs of unknown characters.

    unknown: id of a piece that the table lacks.
    n_ids: first of the ids for pieces and characters that the table lacks.
    first_character: first of the ids for characters, after the ids for pieces.
    runs: ids of characters → id of the run, a dict.
    finds_codes: a text that begins with ">>" begins with a code, which ends with the next "<<".
    codes: matcher of the codes that have an id; other codes become the unknown id. None: no code has an id.
    """

    def __cinit__(
        self, uint32_t unknown, uint32_t n_ids, uint32_t first_character, runs, *, bint finds_codes,
        SpecialMatcher codes
    ):
        cdef size_t n_items = sum(map(len, runs)), at = 0, i
        self.unknown, self.n_ids, self.first_character = unknown, n_ids, first_character
        self.finds_codes, self.codes = finds_codes, codes
        self._n = <size_t> len(runs)
        self._items = <uint32_t*> malloc((n_items + 1) * sizeof(uint32_t))
        self._ends = <uint32_t*> malloc((self._n + 1) * sizeof(uint32_t))
        self._ids = <uint32_t*> malloc((self._n + 1) * sizeof(uint32_t))
        if self._items == NULL or self._ends == NULL or self._ids == NULL:
            raise MemoryError(f"no memory for {self._n} runs of unknown characters")
        for i, run in enumerate(sorted(runs, key=lambda run: (len(run), [*run]))):
            for item in run:
                self._items[at] = item
                at += 1
            self._ends[i], self._ids[i] = <uint32_t> at, runs[run]

    def __dealloc__(self):
        free(self._items)
        free(self._ends)
        free(self._ids)

    cdef uint32_t find(self, const uint32_t* items, size_t n) noexcept nogil:
        """Return the id of a run of unknown characters, or `unknown` if the table lacks the run.

        A binary search: the runs are sorted by length, then by characters.
        """
        cdef size_t low = 0, high = self._n, middle, start, length, i
        cdef int order
        while low < high:
            middle = (low + high) // 2
            start = self._ends[middle - 1] if middle else 0
            length = self._ends[middle] - start
            order = 0 if length == n else -1 if length < n else 1
            i = 0
            while order == 0 and i < n:
                order = (self._items[start + i] > items[i]) - (self._items[start + i] < items[i])
                i += 1
            if order == 0:
                return self._ids[middle]
            if order < 0:
                low = middle + 1
            else:
                high = middle
        return self.unknown
