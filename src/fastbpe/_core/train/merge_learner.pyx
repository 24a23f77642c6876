"""Learning merges from counted pieces: exact greedy BPE in time near-linear in the distinct pieces.

Symbols. All distinct pieces lie in one array of cells, a NONE before and after each. A symbol is the cell its
first base symbol has: it holds the symbol's id; the cell of its last one, if another, holds the id with TAIL set. So
the array is a doubly linked list without links: the right neighbour starts `length[id]` cells on, the left one
ends one cell before.

Pairs. Beside each symbol stands the index of the pair it begins, so that counts of the neighbours' pairs
fall without a look-up. A pair that a merge gives birth to contains the new id, so it is found by an array
over its other half. Its occurrences never grow after that merge: one slice of an arena holds them. A pair that
may not be merged is one like the others; it is just never offered.

Choice. Counts only fall, so whoever waits may promise too much: a pair that no longer has the count it waits
with goes back with what is true now. Counts below N_BUCKETS wait in a list each, and only those of the count that
is being merged lie in the heap, which so stays small; larger ones all do.

What costs is memory: a merge touches cells, counts and weights at random. So the occurrences ahead are asked for
early, and counts lie apart from what else a pair has. Huge pages cost more to lay out than they bring, but for what
is large and written from end to end: of texts that are one piece, half of the time went into laying out small ones.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.common.memory cimport prefetch, use_huge_pages
from fastbpe._core.train.pair_table cimport (
    DEAD, FAR, Cell, QueuedPair, Occurrence, Pair, PairIndex, Pending, State, better, index_slot, merge_some, new_pair, place,
)
from fastbpe._core.common.hash_tables cimport NONE

cdef enum:
    BLOCK = 1 << 19  # occurrences: the arena grows by 4 MB
    LARGE = 1 << 22  # bytes


cdef void* allocated(size_t n_items, size_t item_size) except NULL nogil:
    cdef void* memory = malloc(max(n_items, <size_t> 1) * item_size)
    if memory == NULL:
        with gil:
            raise MemoryError(f"no memory for {n_items * item_size} bytes of training state")
    if n_items * item_size >= LARGE:
        use_huge_pages(memory, n_items * item_size)
    return memory


cdef int grow(void** items, size_t capacity, size_t item_size) except -1 nogil:
    cdef void* grown = realloc(items[0], capacity * item_size)
    if grown == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity * item_size} bytes of training state")
    items[0] = grown
    return 0


cdef class MergeLearner:
    """Learns merges over what a subclass has laid out; it says what the symbols are and which pairs may be merged."""

    def __cinit__(self, *args, **kwargs):
        self._level = N_BUCKETS
        memset(self._buckets, 0xFF, sizeof(self._buckets))

    def __dealloc__(self):
        cdef Block* block
        free(self._state.cells)
        free(self._state.weights)
        free(self._state.length)
        free(self._state.counts)
        free(self._state.pairs)
        free(self._state.left_pair)
        free(self._state.right_pair)
        free(self._state.pending)
        free(self._heap)
        free(self._merges)
        while self._blocks != NULL:
            block = self._blocks
            self._blocks = block.next
            free(block)

    # What subclasses say

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """What decides between equal counts: the pair of the smaller key is merged."""
        return 0

    cdef bint _precedes(self, uint32_t pair, uint32_t other) noexcept nogil:
        """Whether a pair is merged before another one of the same count and key."""
        return False

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        """Whether a pair may be merged; that never changes."""
        return True

    cdef bint _is_new(self, uint32_t pair) except -1 nogil:
        """Whether the best pair gives a new symbol; if so it is merged now. Else it is passed over for good."""
        return True

    # Laying out

    cdef int _allocate(self, size_t n_cells, size_t n_weights, size_t n_ids) except -1:
        """Room for so many cells, pieces and ids; the subclass fills cells, weights and the lengths of base symbols."""
        if n_cells >= DEAD:
            raise MemoryError(f"{n_cells} symbols in distinct pieces: more than 2**32 cannot be learned from")
        self._max_ids = <uint32_t> n_ids
        self._n_cells = n_cells
        self._state.cells = <Cell*> allocated(n_cells, sizeof(Cell))
        self._state.weights = <int64_t*> allocated(n_weights, sizeof(int64_t))
        self._state.length = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        self._state.left_pair = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        self._state.right_pair = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        self._merges = <Merge*> allocated(n_ids - self._n_base, sizeof(Merge))
        memset(self._state.left_pair, 0xFF, n_ids * sizeof(uint32_t))
        memset(self._state.right_pair, 0xFF, n_ids * sizeof(uint32_t))
        return 0

    cdef int _first_pairs(self) except -1 nogil:
        """Find every pair, count its occurrences, then put them into their slices. There is a NONE before each piece
        and at the end."""
        cdef PairIndex index
        cdef Cell* cells = self._state.cells
        cdef uint32_t pair, at, left, right, piece, last = <uint32_t> (self._n_cells - 1)
        cdef size_t slot
        index.slots = NULL
        try:
            _index_grow(&index, &self._state, 1 << 14)
            at, piece = 1, 0
            while at < last:
                left = cells[at].symbol
                if left == NONE:
                    piece += 1
                    at += 1
                    continue
                self._worked(1)
                right = cells[at + self._state.length[left]].symbol
                if right != NONE:
                    slot = index_slot(&index, &self._state, left, right)
                    pair = index.slots[slot]
                    if pair == NONE:
                        self._reserve_pairs(1)
                        pair = index.slots[slot] = new_pair(&self._state, left, right)
                        if 4 * <size_t> self._state.n_pairs > index.mask:
                            _index_grow(&index, &self._state, 2 * (index.mask + 1))
                    self._state.pairs[pair].n += 1
                    self._state.counts[pair] += self._state.weights[piece]
                    cells[at].pair = pair
                at += self._state.length[left]
            self._settle(0)
            at, piece = 1, 0
            while at < last:
                left = cells[at].symbol
                if left == NONE:
                    piece += 1
                    at += 1
                    continue
                self._worked(1)
                right = at + self._state.length[left]
                if cells[right].symbol != NONE:
                    prefetch(&self._state.pairs[cells[min(at + FAR, last)].pair])
                    place(&self._state, cells[at].pair, at, piece)
                at = right
            self._offer_from(0)
        finally:
            free(index.slots)
        return 0


    cdef int _reserve_pairs(self, size_t n_more) except -1 nogil:
        cdef size_t wanted = self._state.n_pairs + n_more
        if wanted <= self._pairs_capacity:
            return 0
        if wanted >= NONE:
            with gil:
                raise MemoryError("more than 2**32 pairs: too much to learn from")
        wanted = max(wanted, self._pairs_capacity + self._pairs_capacity // 2, <size_t> 4096)
        grow(<void**> &self._state.pairs, wanted, sizeof(Pair))
        grow(<void**> &self._state.counts, wanted, sizeof(int64_t))
        self._pairs_capacity = wanted
        return 0

    cdef int _settle(self, uint32_t first) except -1 nogil:
        """Give every pair from the first on a slice of the arena for its occurrences."""
        cdef uint32_t i, n
        cdef size_t n_left = 0
        cdef Block* block
        for i in range(first, self._state.n_pairs):
            n_left += self._state.pairs[i].n
        for i in range(first, self._state.n_pairs):
            n = self._state.pairs[i].n
            if n > self._n_free:
                self._n_free = max(n_left, <size_t> BLOCK)
                block = <Block*> allocated(1, sizeof(Block) + self._n_free * sizeof(Occurrence))
                block.next = self._blocks
                self._blocks = block
                self._free = block.items
            self._state.pairs[i].occurrences = self._free
            self._free += n
            self._n_free -= n
            n_left -= n
        return 0


    # Choosing

    cdef int _offer_from(self, uint32_t first) except -1 nogil:
        """Offer the pairs from the first on that may be merged."""
        cdef uint32_t i
        for i in range(first, self._state.n_pairs):
            if self._is_valid(&self._state.pairs[i]):
                self._offer(i)
        return 0


    cdef int _offer(self, uint32_t pair) except -1 nogil:
        """Let a pair wait with the count it has now."""
        cdef int64_t count = self._state.counts[pair]
        if count < self._min_count:
            return 0
        if count >= self._level:
            return self._push(pair)
        self._state.pairs[pair].next = self._buckets[count]
        self._buckets[count] = pair
        return 0

    cdef inline bint _comes_first(self, const QueuedPair* a, const QueuedPair* b) noexcept nogil:
        return better(a, b) or (a.key == b.key and a.count == b.count and self._precedes(a.pair, b.pair))

    cdef int _push(self, uint32_t pair) except -1 nogil:
        cdef QueuedPair entry
        cdef size_t at = self._n_heap, parent
        if self._n_heap == self._heap_capacity:
            self._heap_capacity = max(2 * self._heap_capacity, <size_t> 1024)
            grow(<void**> &self._heap, self._heap_capacity, sizeof(QueuedPair))
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

    cdef uint32_t _best(self) except? 0xFFFFFFFF nogil:
        """Take the best pair; NONE when none is left."""
        cdef QueuedPair top
        cdef uint32_t pair, following
        while True:
            while self._n_heap:
                self._worked(1)
                top = self._pop()
                if self._state.counts[top.pair] != top.count or (
                    self._keys_change and self._key(top.pair) != top.key
                ):
                    self._offer(top.pair)
                elif self._is_new(top.pair):
                    return top.pair
            if self._level <= self._min_count:
                return NONE
            self._level -= 1
            pair = self._buckets[self._level]
            while pair != NONE:
                following = self._state.pairs[pair].next
                self._offer(pair)
                pair = following


    # Merging

    cdef int _merge(self, uint32_t index, uint32_t merged) except -1 nogil:
        """Merge one pair everywhere, left to right."""
        cdef Pair pair = self._state.pairs[index]
        cdef uint32_t first_new = self._state.n_pairs, i = 0, to
        cdef size_t k
        cdef Pending* pending
        self._reserve_pairs(min(2 * <size_t> pair.n, 2 * <size_t> self._n_ids))
        if 2 * <size_t> pair.n > self._pending_capacity:
            free(self._state.pending)
            self._state.pending = NULL
            self._pending_capacity = 0
            self._state.pending = <Pending*> allocated(2 * <size_t> pair.n, sizeof(Pending))
            self._pending_capacity = 2 * <size_t> pair.n
        self._state.n_pending = 0
        while i < pair.n:
            to = <uint32_t> min(<size_t> pair.n, i + WORK_PER_LOOK)
            merge_some(&self._state, &pair, merged, i, to)
            self._worked(to - i)
            i = to
        self._state.counts[index] = 0
        for i in range(first_new, self._state.n_pairs):
            self._state.left_pair[self._state.pairs[i].left] = NONE
            self._state.right_pair[self._state.pairs[i].right] = NONE
        self._settle(first_new)
        for k in range(self._state.n_pending):
            pending = &self._state.pending[k]
            place(&self._state, pending.pair, pending.occurrence.at, pending.occurrence.piece)
            self._worked(1)
        self._offer_from(first_new)
        self._worked(self._state.n_pairs - first_new + 1)
        return 0

    cdef int _learn(self) except -1 nogil:
        cdef uint32_t best
        cdef Pair* pair
        cdef Merge* merge
        while self._n_ids < self._max_ids:
            best = self._best()
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

    cdef inline int _worked(self, size_t n) except -1 nogil:
        """Look at signals and tell of progress, now and then."""
        self._work += n
        return self._look() if self._work >= WORK_PER_LOOK else 0

    cdef int _look(self) except -1 nogil:
        self._work = 0
        with gil:
            PyErr_CheckSignals()
            if self._progress is not None:
                self._progress(self._n_ids)
        return 0

    def learn(self, progress=None):
        """Learn until max_ids are reached or no pair is left. progress(n_ids) is called now and then, and at the end."""
        if self._is_learning:
            raise RuntimeError("this Learner is learning, or was interrupted while it did; make another one")
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

    def merges(self):
        """(left id, right id, how often the pair occurred) in order of learning; merge i makes id n_base + i."""
        cdef uint32_t i
        return [
            (self._merges[i].left, self._merges[i].right, self._merges[i].count)
            for i in range(self._n_ids - self._n_base)
        ]


cdef int _index_grow(PairIndex* index, const State* s, size_t n_slots) except -1 nogil:
    """Make the table anew with n_slots, a power of two, for the pairs that there are."""
    cdef uint32_t i
    free(index.slots)
    index.slots = NULL
    index.slots = <uint32_t*> allocated(n_slots, sizeof(uint32_t))
    index.mask = n_slots - 1
    memset(index.slots, 0xFF, n_slots * sizeof(uint32_t))
    for i in range(s.n_pairs):
        index.slots[index_slot(index, s, s.pairs[i].left, s.pairs[i].right)] = i
    return 0
