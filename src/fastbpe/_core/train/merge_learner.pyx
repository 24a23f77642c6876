"""Learn merges from counted pieces: exact greedy BPE, in time near-linear in the size of the distinct pieces.

Symbols. All distinct pieces are in one array of cells, with a NONE before and after each piece. A symbol takes
as many cells as it has base symbols: `length[id]`. Its first cell contains the id, and its last cell, if there
are several, id | TAIL. A cell between contains DEAD, which a merge writes to the first cell of the right symbol,
or the id | TAIL of an earlier left symbol, which is never read. So the array is a doubly linked list without
links: the right neighbour starts `length[id]` cells later, and the left neighbour ends one cell before.

Pairs. The first cell of a symbol also contains the index of the pair that the symbol begins, so a merge lowers the
counts of the neighbours' pairs without a look-up. A pair that a merge creates contains the new id, so an array
indexed by the other id finds it. No pair gains occurrences after the merge that creates it, so its occurrences fit
into one slice of an arena. A pair that may not be merged is kept like others, but never queued.

Choice. Counts only decrease, so the count of a waiting pair may be too high. When the pair is taken and its count
has changed, it is queued again with its current count (a lazy priority queue). Pairs with counts below N_BUCKETS
wait in buckets, one list per count (a bucket queue). The heap contains only pairs with counts of N_BUCKETS or
more, and the bucket that is being merged, so it stays small.

Memory. A merge reads cells, counts and marks at random. So it prefetches cells and marks of the next
occurrences, and counts are stored apart from the rest of a pair. Large arrays are on huge pages: `allocated` asks for
them, and `resized` for the arrays that grow.

An occurrence is only the number of its first cell. Marks find its piece: they have one bit per cell and one sum
per 32 cells (rank in a bit vector). Most occurrences soon belong to pairs that no longer occur, so a full arena
drops the slices of these pairs before it grows. Arrays that grow have pages of their own (`resized`). Training on
26 MB of many languages to 100,000 tokens takes 163 MB above the text at its peak (`fastbpe.train`, cl100k, CPython
3.11, x86-64, 2026-11-29). If each occurrence also had the number of its piece, it would take 33 MB more.

Tried and dropped: prefetching counts, pairs while their occurrences are laid out, and weights near the mark. Each
made training less than 3 % faster (docs/how/optimizations.md).
"""

# Tried and dropped: sorting pieces by count, so that frequent pieces are adjacent: the sort takes the time it
#   saves.
# Tried and dropped: leaving out pairs that are too rare ever to merge: they have only a tenth of all occurrences.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from fastbpe._core.common.growing cimport reserve, resize
from fastbpe._core.common.memory cimport resized, use_huge_pages
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.train.pair_table cimport (
    CELLS_PER_MARK, DEAD, TAIL, Cell, NewOccurrence, Pair, PairIndex, PieceMark, QueuedPair, State,
    add_occurrence, better, index_slot, merge_some, n_ones, new_pair,
)
from fastbpe._core.common.hash_tables cimport NONE

cdef enum:
    SPARE_SHARE = 8  # occurrences and pairs per spare place of a full arena: see _reserve_occurrences
    LEAST_SPARE = 1 << 19  # spare places (2 MB) that a full arena gets, unless it has fewer occurrences
    HUGE_PAGES_FROM_BYTES = 1 << 22  # size at which allocated() asks for huge pages
    FIRST_SLOTS = 1 << 14  # initial size of the index of pairs


cdef void* allocated(size_t n_items, size_t item_size) except NULL nogil:
    """Allocate uninitialized memory, even for 0 items; raise MemoryError on failure."""
    cdef void* memory = malloc(max(n_items, <size_t> 1) * item_size)
    if memory == NULL:
        with gil:
            raise MemoryError(f"no memory for {n_items * item_size} bytes of training state")
    if n_items * item_size >= HUGE_PAGES_FROM_BYTES:
        use_huge_pages(memory, n_items * item_size)
    return memory


cdef class MergeLearner:
    """Base of the learners of merges.

    A subclass writes the pieces as symbols (`_allocate`, then cells, weights and lengths, then `_first_pairs`) and
    decides which pairs may be merged and in which order (`_key`, `_precedes`, `_is_valid`, `_is_new`). Before
    `_allocate`, it sets `_n_base`, `_n_ids` and `_min_count` (at least 1), and `_keys_change` if keys may change
    while a pair waits.
    """

    def __cinit__(self, *args, **kwargs):
        self._level = N_BUCKETS
        memset(self._buckets, 0xFF, sizeof(self._buckets))  # NONE in every item, as below

    def __dealloc__(self):
        free(self._state.cells)
        free(self._state.weights)
        free(self._state.marks)
        free(self._state.length)
        resized(self._state.counts, self._counts_capacity * sizeof(int64_t), 0)
        resized(self._state.pairs, self._pairs_capacity * sizeof(Pair), 0)
        free(self._state.left_pair)
        free(self._state.right_pair)
        resized(self._state.occurrences, self._occurrences_capacity * sizeof(uint32_t), 0)
        free(self._state.new_occurrences)
        free(self._heap)
        free(self._merges)

    # Decisions of subclasses

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """Return the key that decides between equal counts: the pair with the smaller key is merged."""
        return 0

    cdef bint _precedes(self, uint32_t pair, uint32_t other) noexcept nogil:
        """Tell whether a pair is merged before another pair of the same count and key."""
        return False

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        """Tell whether a pair may be merged. The answer must never change."""
        return True

    cdef bint _is_new(self, uint32_t pair) except -1 nogil:
        """Tell whether the best pair makes a new symbol. If so, it is merged now; otherwise never.

        It is called once per pair: it may record the symbol, and may end learning by lowering `_max_ids`.
        """
        return True

    # Setting up

    cdef int _allocate(self, size_t n_cells, size_t n_weights, size_t n_ids) except -1:
        """Allocate the arrays.

        n_cells: symbols of all distinct pieces, plus a NONE before each piece and one at the end; or more: then the
            subclass sets _n_cells to the number that it fills.
        n_weights: number of pieces, or more.
        n_ids: total number of ids to reach, at least _n_base.

        The subclass then fills cells, weights and the lengths of base symbols.
        """
        if n_cells >= DEAD:  # positions have 32 bits
            raise MemoryError(
                "the distinct pieces or sequences have more than 2**32 - 3 symbols (with a separator for each): "
                "train on less text"
            )
        if n_ids >= TAIL:
            raise MemoryError(f"{n_ids} ids: the limit of training is 2**31 - 1; lower vocab_size=")
        self._max_ids = <uint32_t> n_ids
        self._n_cells = n_cells
        self._state.cells = <Cell*> allocated(n_cells, sizeof(Cell))
        self._state.weights = <int64_t*> allocated(n_weights, sizeof(int64_t))
        self._state.marks = <PieceMark*> allocated(n_cells / CELLS_PER_MARK + 1, sizeof(PieceMark))
        memset(self._state.marks, 0, (n_cells / CELLS_PER_MARK + 1) * sizeof(PieceMark))
        self._state.length = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        self._state.left_pair = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        self._state.right_pair = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        self._merges = <LearnedMerge*> allocated(n_ids - self._n_base, sizeof(LearnedMerge))
        memset(self._state.left_pair, 0xFF, n_ids * sizeof(uint32_t))
        memset(self._state.right_pair, 0xFF, n_ids * sizeof(uint32_t))
        return 0

    cdef int _first_pairs(self) except -1 nogil:
        """Find all pairs and their occurrences, and queue those that may be merged.

        Requires: the cells are filled, with a NONE before each piece and at the end.
        """
        cdef PairIndex index
        cdef Cell* cells = self._state.cells
        cdef uint32_t pair, at, left, right, after, piece, last = <uint32_t> (self._n_cells - 1)
        cdef size_t slot, n_occurrences = 0
        # With no_overlaps, of a run of equal symbols, the first, third, … pairs are counted.
        cdef bint is_counted = False
        index.slots = NULL
        try:
            index_grow(&index, &self._state, FIRST_SLOTS)
            self._mark_pieces()
            at, piece = 1, 0
            while at < last:
                left = cells[at].symbol
                if left == NONE:
                    piece += 1
                    at += 1
                    continue
                self._note_work(1)
                right = cells[at + self._state.length[left]].symbol
                if right != NONE:
                    slot = index_slot(&index, &self._state, left, right)
                    pair = index.slots[slot]
                    if pair == NONE:
                        self._reserve_pairs(1)
                        pair = index.slots[slot] = new_pair(&self._state, left, right)
                        if 4 * <size_t> self._state.n_pairs > index.mask:
                            index_grow(&index, &self._state, 2 * (index.mask + 1))
                    self._state.pairs[pair].n += 1
                    n_occurrences += 1
                    is_counted = self._state.no_overlaps and right == left and not is_counted
                    if is_counted or right != left or not self._state.no_overlaps:
                        self._state.counts[pair] += self._state.weights[piece]
                    cells[at].pair = pair
                else:
                    is_counted = False
                at += self._state.length[left]
            self._reserve_occurrences(n_occurrences)
            self._give_slices(0)
            at = 1
            while at < last:
                left = cells[at].symbol
                if left == NONE:
                    at += 1
                    continue
                self._note_work(1)
                after = at + self._state.length[left]
                if cells[after].symbol != NONE:
                    add_occurrence(&self._state, cells[at].pair, at)
                at = after
            self._offer_from(0)
        finally:
            free(index.slots)
        return 0

    cdef void _mark_pieces(self) noexcept nogil:
        """Fill the marks, which find the piece of a cell.

        Requires: the cells are filled.
        """
        cdef PieceMark* marks = self._state.marks
        cdef const Cell* cells = self._state.cells
        cdef size_t at
        cdef uint32_t n = 0
        for at in range(self._n_cells):
            if cells[at].symbol == NONE:
                marks[at / CELLS_PER_MARK].starts |= <uint32_t> 1 << (at % CELLS_PER_MARK)
        for at in range(self._n_cells / CELLS_PER_MARK + 1):
            marks[at].n_before = n
            n += n_ones(marks[at].starts)

    cdef int _reserve_pairs(self, size_t n_more) except -1 nogil:
        """Make space for n_more pairs."""
        cdef size_t wanted = self._state.n_pairs + n_more
        if wanted <= self._pairs_capacity:
            return 0
        if wanted >= NONE:
            with gil:
                raise MemoryError("the text has more than 2**32 - 2 distinct pairs: train on less text")
        wanted = max(wanted, self._pairs_capacity + self._pairs_capacity // 2, <size_t> 4096)
        resize(<void**> &self._state.counts, &self._counts_capacity, wanted, sizeof(int64_t))
        resize(<void**> &self._state.pairs, &self._pairs_capacity, wanted, sizeof(Pair))
        return 0

    cdef int _reserve_occurrences(self, size_t n_more) except -1 nogil:
        """Make space for n_more occurrences in the arena.

        A full arena drops the slices of pairs that no longer occur. That takes a step per occurrence and pair, so
        it is done only if it frees a place per SPARE_SHARE steps. In any case the arena gets spare places: one per
        SPARE_SHARE steps, or LEAST_SPARE if that is more, because a small arena would soon be full again.
        """
        cdef size_t n, n_spare
        if self._n_occurrences + n_more <= self._occurrences_capacity:
            return 0
        if self._n_gone > (self._n_occurrences + self._state.n_pairs) // SPARE_SHARE:
            self._drop_gone()
        n_spare = (self._n_occurrences + self._state.n_pairs) // SPARE_SHARE
        # The new capacity may be below the old one, if many slices were dropped.
        n = self._n_occurrences + max(n_more, max(n_spare, min(self._n_occurrences, <size_t> LEAST_SPARE)))
        resize(<void**> &self._state.occurrences, &self._occurrences_capacity, n, sizeof(uint32_t))
        return 0

    cdef void _drop_gone(self) noexcept nogil:
        """Drop the occurrences of pairs that no longer occur, and close the gaps between the others.

        The slices are in the order of the pairs, so none is overwritten before it moves.
        """
        cdef Pair* pair
        cdef size_t end = 0, k
        cdef uint32_t i
        cdef uint32_t* occurrences = self._state.occurrences
        for i in range(self._state.n_pairs):
            pair = &self._state.pairs[i]
            if not self._state.counts[i]:
                pair.n = 0
            for k in range(pair.n):
                occurrences[end + k] = occurrences[pair.start + k]
            pair.start = end
            end += pair.n
        self._n_occurrences = end
        self._n_gone = 0

    cdef void _give_slices(self, uint32_t first) noexcept nogil:
        """Give each pair, starting at index `first`, a slice of the arena with space for its n occurrences.

        Requires: the arena has space for them.
        """
        cdef uint32_t i
        for i in range(first, self._state.n_pairs):
            self._state.pairs[i].start = self._n_occurrences
            self._n_occurrences += self._state.pairs[i].n

    # Choosing

    cdef int _offer_from(self, uint32_t first) except -1 nogil:
        """Queue the pairs, starting at index `first`, that may be merged."""
        cdef uint32_t i
        for i in range(first, self._state.n_pairs):
            if self._is_valid(&self._state.pairs[i]):
                self._offer(i)
        return 0

    cdef int _offer(self, uint32_t pair) except -1 nogil:
        """Queue a pair in the heap, or in the bucket of its current count; drop it if that is below _min_count."""
        cdef int64_t count = self._state.counts[pair]
        if count < self._min_count:
            if not count:
                self._n_gone += self._state.pairs[pair].n
            return 0
        if count >= self._level:
            return self._push(pair)
        self._state.pairs[pair].next = self._buckets[count]
        self._buckets[count] = pair
        return 0

    cdef inline bint _comes_first(self, const QueuedPair* a, const QueuedPair* b) noexcept nogil:
        return better(a, b) or (a.key == b.key and a.count == b.count and self._precedes(a.pair, b.pair))

    cdef int _push(self, uint32_t pair) except -1 nogil:
        """Push a pair onto the heap (a binary heap in an array)."""
        cdef QueuedPair entry
        cdef size_t at = self._n_heap, parent
        reserve(<void**> &self._heap, &self._heap_capacity, at + 1, sizeof(QueuedPair), 1024)
        entry.count = self._state.counts[pair]
        entry.key = self._key(pair)
        entry.pair = pair
        while at:
            parent = (at - 1) >> 1
            if not self._comes_first(&entry, &self._heap[parent]):
                break
            self._heap[at] = self._heap[parent]
            at = parent
        self._heap[at] = entry
        self._n_heap += 1
        return 0

    cdef QueuedPair _pop(self) noexcept nogil:
        """Pop the best pair from the heap, which is not empty."""
        cdef QueuedPair top = self._heap[0], entry
        cdef size_t at = 0, child = 1
        self._n_heap -= 1
        entry = self._heap[self._n_heap]
        while child < self._n_heap:
            if child + 1 < self._n_heap and self._comes_first(&self._heap[child + 1], &self._heap[child]):
                child += 1
            if not self._comes_first(&self._heap[child], &entry):
                break
            self._heap[at] = self._heap[child]
            at = child
            child = 2 * at + 1
        self._heap[at] = entry
        return top

    cdef uint32_t _take_best(self) except? 0xFFFFFFFF nogil:
        """Take the best pair; return NONE if no pair is left, or _is_new() has ended learning."""
        cdef QueuedPair top
        cdef uint32_t pair, following
        while True:
            while self._n_heap:
                self._note_work(1)
                top = self._pop()
                if self._state.counts[top.pair] != top.count or (
                    self._keys_change and self._key(top.pair) != top.key
                ):
                    self._offer(top.pair)
                elif self._is_new(top.pair):
                    return top.pair
                elif self._n_ids >= self._max_ids:  # _is_new() has ended learning
                    return NONE
            if self._level <= self._min_count:
                return NONE
            self._level -= 1
            pair = self._buckets[self._level]  # not emptied: pairs with this count now go to the heap
            while pair != NONE:
                following = self._state.pairs[pair].next
                self._offer(pair)
                pair = following

    # Merging

    cdef int _merge(self, uint32_t index, uint32_t merged) except -1 nogil:
        """Merge a pair at all its occurrences, from left to right within each piece.

        merged: the new id.

        Requires: length[merged] is set, and merged < _n_ids.
        """
        cdef Pair pair  # a copy: _reserve_pairs() may move the pairs
        cdef uint32_t first_new = self._state.n_pairs, i = 0, to
        cdef size_t k
        cdef NewOccurrence* new
        # Before the copy is made, because it may move the pair's slice.
        self._reserve_occurrences(2 * <size_t> self._state.pairs[index].n)
        pair = self._state.pairs[index]
        self._reserve_pairs(min(2 * <size_t> pair.n, 2 * <size_t> self._n_ids))
        if 2 * <size_t> pair.n > self._new_capacity:
            free(self._state.new_occurrences)
            self._state.new_occurrences = NULL  # if allocated() raises, __dealloc__ must not free them again
            self._new_capacity = 0
            self._state.new_occurrences = <NewOccurrence*> allocated(2 * <size_t> pair.n, sizeof(NewOccurrence))
            self._new_capacity = 2 * <size_t> pair.n
        self._state.n_new = 0
        while i < pair.n:
            to = <uint32_t> min(<size_t> pair.n, i + WORK_PER_REPORT)
            merge_some(&self._state, &pair, merged, i, to)
            self._note_work(to - i)
            i = to
        self._state.counts[index] = 0
        self._n_gone += pair.n
        for i in range(first_new, self._state.n_pairs):
            self._state.left_pair[self._state.pairs[i].left] = NONE
            self._state.right_pair[self._state.pairs[i].right] = NONE
        self._give_slices(first_new)
        for k in range(self._state.n_new):
            new = &self._state.new_occurrences[k]
            add_occurrence(&self._state, new.pair, new.at)
            self._note_work(1)
        self._offer_from(first_new)
        self._note_work(self._state.n_pairs - first_new + 1)
        return 0

    cdef int _learn(self) except -1 nogil:
        """Learn merges until there are _max_ids ids or no pair is left."""
        cdef uint32_t best
        cdef Pair* pair
        cdef LearnedMerge* merge
        while self._n_ids < self._max_ids:
            best = self._take_best()
            if best == NONE:
                break
            pair = &self._state.pairs[best]
            merge = &self._merges[self._n_ids - self._n_base]
            merge.left = pair.left
            merge.right = pair.right
            merge.count = self._state.counts[best]
            self._state.length[self._n_ids] = self._state.length[pair.left] + self._state.length[pair.right]
            self._n_ids += 1
            self._merge(best, self._n_ids - 1)
        return 0

    cdef inline int _note_work(self, size_t n) except -1 nogil:
        """Count n handled occurrences or pairs; check signals and report progress from time to time."""
        self._work += n
        return self._report() if self._work >= WORK_PER_REPORT else 0

    cdef int _report(self) except -1 nogil:
        self._work = 0
        with gil:
            PyErr_CheckSignals()
            if self._progress is not None:
                self._progress(self._n_ids)
        return 0

    def learn(self, progress=None):
        """Learn all merges.

        progress: callable or None – called as progress(n_ids) from time to time, and at the end.
        """
        if self._is_learning:
            raise RuntimeError("this Learner is in use, or was interrupted; create another one")
        self._is_learning = True
        self._progress = progress
        try:
            with nogil:
                self._learn()
            if progress is not None:
                progress(self._n_ids)
        finally:
            self._progress = None
        self._is_learning = False
        # not needed any more: leave the memory to the list of merges
        resize(<void**> &self._state.occurrences, &self._occurrences_capacity, 0, sizeof(uint32_t))

    def merges(self):
        """Return (left id, right id, count) of each merge, in order; merge i makes id n_base + i."""
        cdef uint32_t i
        return [
            (self._merges[i].left, self._merges[i].right, self._merges[i].count)
            for i in range(self._n_ids - self._n_base)
        ]


cdef int index_grow(PairIndex* index, const State* s, size_t n_slots) except -1 nogil:
    """Rebuild the table with n_slots slots, a power of two, for the pairs that exist."""
    cdef uint32_t i
    free(index.slots)
    index.slots = NULL  # if allocated() raises, the owner must not free them again
    index.slots = <uint32_t*> allocated(n_slots, sizeof(uint32_t))
    index.mask = n_slots - 1
    memset(index.slots, 0xFF, n_slots * sizeof(uint32_t))
    for i in range(s.n_pairs):
        index.slots[index_slot(index, s, s.pairs[i].left, s.pairs[i].right)] = i
    return 0
