"""Words of one language in parity-aware training: a learner whose merges are chosen by a `ParityLearner`.

Every merge is applied to all corpora at once, so that in each of them a pair gains no occurrences after the merge
that creates it, which merge_learner.pyx relies on. An index finds the pair that another corpus chose.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.train.byte_learner cimport Learner
from fastbpe._core.train.merge_learner cimport index_grow
from fastbpe._core.train.pair_table cimport Cell, Pair, index_slot
from fastbpe._core.train.token_texts cimport TokenTexts

cdef enum:
    MIN_INDEX_SLOTS = 1 << 10
    SLOTS_PER_PAIR = 4  # at least


@cython.final
cdef class Corpus(Learner):
    """Words of one language, to which the merges of all languages are applied.

    source: PieceCounter or Sequences – the words.
    texts: TokenTexts – texts of the ids; of equally frequent pairs the one with the greatest texts is taken.
    chooses: bool – pairs are taken from this corpus. False: merges are only applied to it.
    options: options of `Learner`.
    """

    def __init__(self, source, TokenTexts texts not None, *, bint chooses, **options):
        self._texts = texts
        self._chooses = chooses
        Learner.__init__(self, source, **options)
        cdef Cell* cells = self._state.cells
        cdef size_t at, piece = 0
        with nogil:
            for at in range(1, self._n_cells - 1):
                if cells[at].symbol == NONE:
                    piece += 1
                else:
                    self.n_symbols += self._state.weights[piece]
            self._add_to_index(0)

    def __dealloc__(self):
        free(self._index.slots)

    def report_to(self, progress):
        """Call progress(n_ids) from time to time while merges are applied; None: do not."""
        self._progress = progress

    # Choosing

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """Return a number that is smaller for greater texts; equal numbers decide nothing."""
        return ~self._texts.heads[self._state.pairs[index].left]

    cdef bint _precedes(self, uint32_t pair, uint32_t other) noexcept nogil:
        cdef const Pair* a = &self._state.pairs[pair]
        cdef const Pair* b = &self._state.pairs[other]
        cdef int order = self._texts.compare(a.left, b.left)
        return order > 0 or (order == 0 and self._texts.compare(a.right, b.right) > 0)

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        return self._chooses and Learner._is_valid(self, pair)

    cdef uint32_t take(self) except? 0xFFFFFFFF nogil:
        """Take the best pair; return NONE if no pair is left."""
        return self._take_best()

    cdef uint32_t left(self, uint32_t pair) noexcept nogil:
        return self._state.pairs[pair].left

    cdef uint32_t right(self, uint32_t pair) noexcept nogil:
        return self._state.pairs[pair].right

    cdef int64_t count(self, uint32_t pair) noexcept nogil:
        return self._state.counts[pair]

    # Merging

    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) except -1 nogil:
        """Merge a pair wherever it stands.

        merged: the new id, the one after the last.
        """
        cdef uint32_t pair, first_new = self._state.n_pairs
        cdef int64_t count
        self._state.length[merged] = self._state.length[left] + self._state.length[right]
        self._n_ids = merged + 1
        pair = self._index.slots[index_slot(&self._index, &self._state, left, right)]
        if pair == NONE or not self._state.counts[pair]:
            return 0
        count = self._state.counts[pair]
        self._merge(pair, merged)
        self.n_symbols -= self._n_merged(pair, merged) if left == right else count
        return self._add_to_index(first_new)

    cdef int64_t _n_merged(self, uint32_t pair, uint32_t merged) noexcept nogil:
        """Return how often a pair was merged, with repetitions. Occurrences of a pair (x, x) may overlap."""
        cdef const Pair* it = &self._state.pairs[pair]
        cdef int64_t n = 0
        cdef uint32_t i
        for i in range(it.n):
            if self._state.cells[it.occurrences[i].at].symbol == merged:
                n += self._state.weights[it.occurrences[i].piece]
        return n

    cdef int _add_to_index(self, uint32_t first) except -1 nogil:
        """Add the pairs from index `first` on to the index."""
        cdef size_t n_slots = SLOTS_PER_PAIR * <size_t> self._state.n_pairs
        cdef uint32_t i
        if self._index.slots == NULL or n_slots > self._index.mask + 1:
            n_slots = max(2 * n_slots, <size_t> MIN_INDEX_SLOTS)
            while n_slots & (n_slots - 1):  # a power of two
                n_slots &= n_slots - 1
            index_grow(&self._index, &self._state, n_slots)
        else:
            for i in range(first, self._state.n_pairs):
                self._index.slots[index_slot(&self._index, &self._state, self.left(i), self.right(i))] = i
        return 0
