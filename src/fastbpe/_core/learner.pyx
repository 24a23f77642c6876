"""Learning merges from counted pieces: exact greedy BPE in time near-linear in the distinct pieces.

Symbols. All distinct pieces lie in one array, a NONE before and after each. A symbol is the slot its first
byte has: it holds the symbol's id; the slot of its last byte, if another, holds the id with TAIL set. So the
array is a doubly linked list without links: the right neighbour starts `length[id]` slots on, the left one
ends one slot before. Four bytes a symbol instead of twelve.

Pairs. Beside each symbol stands the index of the pair it begins, so that counts of the neighbours' pairs
fall without a look-up. A pair that a merge gives birth to contains the new id, so it is found by an array
over its other half. Its occurrences never grow after that merge: one slice of an arena holds them. No two
pairs ever make the same bytes (`fastbpe._reference.training` says why), so every merge has an id of its own.

Choice. Counts only fall, so a heap whose entries may promise too much is exact: an entry that no longer
holds when it comes up goes back with what is true now.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.counter cimport PieceCount, PieceCounter
from fastbpe._core.tables cimport NONE

cdef extern from *:
    """
    #define FASTBPE_TAIL UINT32_C(0x80000000)
    #define FASTBPE_DEAD (UINT32_MAX - 1)
    """
    const uint32_t TAIL "FASTBPE_TAIL"
    const uint32_t DEAD "FASTBPE_DEAD"  # a slot inside a symbol; no id, since ids stay below TAIL

cdef const uint32_t N_BASE = 256
cdef const size_t WORK_PER_STEP = 2_000_000  # occurrences between two looks at signals and progress


cdef struct Pair:
    uint32_t left
    uint32_t right
    int64_t count
    uint64_t start  # of its occurrences in their arena; meaningless before they are settled
    uint32_t n  # occurrences, those that are gone by now included
    uint32_t n_placed  # occurrences that stand in the arena


cdef struct Entry:
    int64_t count
    uint64_t key  # of two pairs with equal counts, the one with the smaller key is merged
    uint32_t pair


cdef struct Merge:
    uint32_t left
    uint32_t right
    int64_t count


cdef struct Pending:
    uint32_t pair
    uint32_t at


cdef int _grow(void** items, size_t* capacity, size_t wanted, size_t item_size) except -1 nogil:
    cdef size_t n
    cdef void* grown
    if wanted <= capacity[0]:
        return 0
    n = max(wanted, capacity[0] + capacity[0] // 2, <size_t> 1024)
    grown = realloc(items[0], n * item_size)
    if grown == NULL:
        with gil:
            raise MemoryError(f"no memory for {n * item_size} bytes of training state")
    items[0] = grown
    capacity[0] = n
    return 0


@cython.final
cdef class Learner:
    """Learns merges over the pieces of a PieceCounter, which must not change meanwhile.

    max_ids: the ids to end with, 256 or more. Of two pairs that occur equally often, the one met first in
    the pieces is merged with ties_first, else the one whose left id, then right id, ranks lower; base_ranks
    (256 numbers) says how bytes rank among themselves, None: by value.
    """

    cdef PieceCounter _counter
    cdef uint32_t* _symbols
    cdef uint32_t* _pair_at
    cdef uint32_t* _word_of
    cdef size_t _n_slots
    cdef uint32_t* _length  # of each id, in slots
    cdef uint32_t* _rank  # of each id, for ties
    cdef uint32_t* _left_pair  # id L: pair (L, new id) of the present merge; NONE: not met yet
    cdef uint32_t* _right_pair
    cdef Pair* _pairs
    cdef size_t _n_pairs, _pairs_capacity
    cdef uint32_t* _occurrences
    cdef size_t _n_occurrences, _occurrences_capacity
    cdef Entry* _heap
    cdef size_t _n_heap, _heap_capacity
    cdef Pending* _pending
    cdef size_t _n_pending, _pending_capacity
    cdef uint32_t _n_ids, _max_ids
    cdef int64_t _min_count
    cdef uint32_t _max_token_bytes
    cdef bint _ties_first
    cdef Merge* _merges  # by order; merge i makes the id N_BASE + i

    def __init__(
        self, PieceCounter counter not None, *, uint32_t max_ids, bint ties_first=False, int64_t min_count=1,
        max_token_bytes=None, base_ranks=None,
    ):
        counter.settle()
        self._counter = counter
        self._max_ids = max(max_ids, N_BASE)
        self._n_ids = N_BASE
        self._min_count = max(min_count, 1)
        self._max_token_bytes = NONE if max_token_bytes is None else min(max_token_bytes, NONE)
        self._ties_first = ties_first
        self._check_counts()
        self._allocate()
        cdef uint32_t i
        for i in range(self._max_ids):
            self._rank[i] = base_ranks[i] if base_ranks is not None and i < N_BASE else i
        with nogil:
            self._lay_out()
            self._first_pairs()

    def __dealloc__(self):
        free(self._symbols)
        free(self._pair_at)
        free(self._word_of)
        free(self._length)
        free(self._rank)
        free(self._left_pair)
        free(self._right_pair)
        free(self._pairs)
        free(self._occurrences)
        free(self._heap)
        free(self._pending)
        free(self._merges)

    cdef int _check_counts(self) except -1:
        """No pair's count can be more than all symbols together, each as often as its piece."""
        cdef int64_t left = INT64_MAX
        cdef size_t w
        cdef PieceCount* piece
        for w in range(self._counter.n_pieces):
            piece = &self._counter.pieces[w]
            if piece.n_bytes and piece.count > left // piece.n_bytes:
                raise OverflowError("the counts of the pieces add up to more than 2**63 - 1 symbols")
            left -= piece.count * piece.n_bytes
        return 0

    cdef int _allocate(self) except -1:
        cdef size_t n = self._counter.n_arena + self._counter.n_pieces + 2, n_ids = self._max_ids
        if n >= DEAD:
            raise MemoryError(f"{n} bytes of distinct pieces: more than 4 GiB cannot be learned from")
        self._n_slots = n
        self._symbols = <uint32_t*> malloc(n * sizeof(uint32_t))
        self._pair_at = <uint32_t*> malloc(n * sizeof(uint32_t))
        self._word_of = <uint32_t*> malloc(n * sizeof(uint32_t))
        self._length = <uint32_t*> malloc(n_ids * sizeof(uint32_t))
        self._rank = <uint32_t*> malloc(n_ids * sizeof(uint32_t))
        self._left_pair = <uint32_t*> malloc(n_ids * sizeof(uint32_t))
        self._right_pair = <uint32_t*> malloc(n_ids * sizeof(uint32_t))
        self._merges = <Merge*> malloc(n_ids * sizeof(Merge))
        if (
            self._symbols == NULL or self._pair_at == NULL or self._word_of == NULL or self._length == NULL
            or self._rank == NULL or self._left_pair == NULL or self._right_pair == NULL or self._merges == NULL
        ):
            raise MemoryError(f"no memory to learn from {n} bytes of distinct pieces")
        memset(self._left_pair, 0xFF, n_ids * sizeof(uint32_t))
        memset(self._right_pair, 0xFF, n_ids * sizeof(uint32_t))
        return 0

    cdef void _lay_out(self) noexcept nogil:
        """Write every piece's bytes as symbols; byte i of piece w is slot start(w) + i + w + 1."""
        cdef size_t w, i, slot = 0
        cdef uint8_t* p
        for i in range(N_BASE):
            self._length[i] = 1
        for w in range(self._counter.n_pieces):
            self._symbols[slot] = NONE
            slot += 1
            p = self._counter.arena + self._counter.pieces[w].start
            for i in range(self._counter.pieces[w].n_bytes):
                self._symbols[slot] = p[i]
                self._word_of[slot] = <uint32_t> w
                slot += 1
        self._symbols[slot] = NONE
        self._n_slots = slot + 1

    cdef int _first_pairs(self) except -1 nogil:
        """Find every pair of bytes; a table over both bytes serves as the look-up."""
        cdef uint32_t* index = <uint32_t*> malloc(N_BASE * N_BASE * sizeof(uint32_t))
        cdef size_t slot, key
        cdef uint32_t pair
        if index == NULL:
            with gil:
                raise MemoryError("no memory for the table of byte pairs")
        memset(index, 0xFF, N_BASE * N_BASE * sizeof(uint32_t))
        try:
            for slot in range(1, self._n_slots - 1):
                if self._symbols[slot] == NONE or self._symbols[slot + 1] == NONE:
                    continue
                key = self._symbols[slot] * N_BASE + self._symbols[slot + 1]
                pair = index[key]
                if pair == NONE:
                    pair = index[key] = self._new_pair(self._symbols[slot], self._symbols[slot + 1])
                self._meet(pair, <uint32_t> slot)
            self._settle(0)
        finally:
            free(index)
        return 0

    cdef int64_t _weight(self, size_t slot) noexcept nogil:
        return self._counter.pieces[self._word_of[slot]].count

    cdef uint32_t _new_pair(self, uint32_t left, uint32_t right) except? 0xFFFFFFFF nogil:
        cdef Pair* pair
        _grow(<void**> &self._pairs, &self._pairs_capacity, self._n_pairs + 1, sizeof(Pair))
        pair = &self._pairs[self._n_pairs]
        pair.left = left
        pair.right = right
        pair.count = 0
        pair.n = pair.n_placed = 0
        self._n_pairs += 1
        return <uint32_t> (self._n_pairs - 1)

    cdef int _meet(self, uint32_t pair, uint32_t slot) except -1 nogil:
        """Note an occurrence of a pair that the present merge (or the beginning) gives birth to."""
        _grow(<void**> &self._pending, &self._pending_capacity, self._n_pending + 1, sizeof(Pending))
        self._pending[self._n_pending].pair = pair
        self._pending[self._n_pending].at = slot
        self._n_pending += 1
        self._pairs[pair].n += 1
        self._pairs[pair].count += self._weight(slot)
        self._pair_at[slot] = pair
        return 0

    cdef int _settle(self, size_t first_new) except -1 nogil:
        """Sort the occurrences just met into a slice for each new pair, and offer those pairs to the heap."""
        cdef size_t i
        cdef Pair* pair
        _grow(
            <void**> &self._occurrences, &self._occurrences_capacity, self._n_occurrences + self._n_pending,
            sizeof(uint32_t),
        )
        for i in range(first_new, self._n_pairs):
            self._pairs[i].start = self._n_occurrences
            self._n_occurrences += self._pairs[i].n
        for i in range(self._n_pending):
            pair = &self._pairs[self._pending[i].pair]
            self._occurrences[pair.start + pair.n_placed] = self._pending[i].at
            pair.n_placed += 1
        self._n_pending = 0
        for i in range(first_new, self._n_pairs):
            pair = &self._pairs[i]
            if pair.count >= self._min_count and self._fits(pair):
                self._push(<uint32_t> i, self._key(<uint32_t> i))
        return 0

    cdef inline bint _fits(self, const Pair* pair) noexcept nogil:
        return <uint64_t> self._length[pair.left] + self._length[pair.right] <= self._max_token_bytes

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """What decides between equal counts. With ties="first": the slot of the first occurrence left."""
        cdef Pair* pair = &self._pairs[index]
        if not self._ties_first:
            return (<uint64_t> self._rank[pair.left] << 32) | self._rank[pair.right]
        # An occurrence that is gone never comes back, so the slice forgets it for good.
        while pair.n and not self._stands(pair, self._occurrences[pair.start]):
            pair.start += 1
            pair.n -= 1
        return self._occurrences[pair.start] if pair.n else NONE

    cdef inline bint _stands(self, const Pair* pair, uint32_t slot) noexcept nogil:
        return (
            self._symbols[slot] == pair.left and self._symbols[slot + self._length[pair.left]] == pair.right
        )

    cdef int _push(self, uint32_t pair, uint64_t key) except -1 nogil:
        cdef Entry entry
        cdef size_t at = self._n_heap, parent
        _grow(<void**> &self._heap, &self._heap_capacity, self._n_heap + 1, sizeof(Entry))
        entry.count = self._pairs[pair].count
        entry.key = key
        entry.pair = pair
        while at:
            parent = (at - 1) >> 1
            if not _better(&entry, &self._heap[parent]):
                break
            self._heap[at] = self._heap[parent]
            at = parent
        self._heap[at] = entry
        self._n_heap += 1
        return 0

    cdef Entry _pop(self) noexcept nogil:
        cdef Entry top = self._heap[0], entry
        cdef size_t at = 0, child = 1
        self._n_heap -= 1
        entry = self._heap[self._n_heap]
        while child < self._n_heap:
            if child + 1 < self._n_heap and _better(&self._heap[child + 1], &self._heap[child]):
                child += 1
            if not _better(&self._heap[child], &entry):
                break
            self._heap[at] = self._heap[child]
            at = child
            child = 2 * at + 1
        self._heap[at] = entry
        return top

    cdef uint32_t _best(self) except? 0xFFFFFFFF nogil:
        """Take the best pair off the heap; NONE when none is left."""
        cdef Entry top
        cdef Pair* pair
        cdef uint64_t key
        while self._n_heap:
            top = self._pop()
            pair = &self._pairs[top.pair]
            if pair.count < self._min_count:
                continue  # merged, or rare by now
            key = self._key(top.pair)
            if pair.count == top.count and key == top.key:
                return top.pair
            self._push(top.pair, key)
        return NONE

    cdef size_t _merge(self, uint32_t index, uint32_t merged) except? 0 nogil:
        """Merge one pair everywhere, left to right; return the occurrences looked at, and one more."""
        cdef uint64_t start = self._pairs[index].start
        cdef uint32_t i, n = self._pairs[index].n
        cdef size_t first_new = self._n_pairs
        for i in range(n):
            if self._stands(&self._pairs[index], self._occurrences[start + i]):
                self._merge_at(index, merged, self._occurrences[start + i])
        self._pairs[index].count = 0
        for i in range(<uint32_t> first_new, <uint32_t> self._n_pairs):
            self._left_pair[self._pairs[i].left] = NONE
            self._right_pair[self._pairs[i].right] = NONE
        self._settle(first_new)
        return <size_t> n + 1

    cdef int _merge_at(self, uint32_t index, uint32_t merged, uint32_t at) except -1 nogil:
        cdef uint32_t right_at = at + self._length[self._pairs[index].left]
        cdef uint32_t after = right_at + self._length[self._pairs[index].right]
        cdef uint32_t left = self._symbols[at - 1], right = self._symbols[after], left_at = 0
        cdef int64_t weight = self._weight(at)
        if left != NONE:
            left &= ~TAIL
            left_at = at - self._length[left]
            self._pairs[self._pair_at[left_at]].count -= weight
        if right != NONE:
            self._pairs[self._pair_at[right_at]].count -= weight
        self._symbols[right_at] = DEAD
        self._symbols[at] = merged
        self._symbols[after - 1] = merged | TAIL
        if left != NONE:
            if self._left_pair[left] == NONE:
                self._left_pair[left] = self._new_pair(left, merged)
            self._meet(self._left_pair[left], left_at)
        if right != NONE:  # never the new id itself: what stands to the right is merged later
            if self._right_pair[right] == NONE:
                self._right_pair[right] = self._new_pair(merged, right)
            self._meet(self._right_pair[right], at)
        return 0

    cdef bint _step(self) except -1 nogil:
        """Learn for a few milliseconds; False when there is nothing left to learn."""
        cdef size_t work = 0
        cdef uint32_t best
        cdef Pair* pair
        cdef Merge* merge
        while work < WORK_PER_STEP:
            if self._n_ids == self._max_ids:
                return False
            best = self._best()
            if best == NONE:
                return False
            pair = &self._pairs[best]
            merge = &self._merges[self._n_ids - N_BASE]
            merge.left = pair.left
            merge.right = pair.right
            merge.count = pair.count
            self._length[self._n_ids] = self._length[pair.left] + self._length[pair.right]
            self._n_ids += 1
            work += self._merge(best, self._n_ids - 1)
        return True

    def learn(self, progress=None):
        """Learn until max_ids are reached or no pair is left. progress(n_ids) is called now and then."""
        cdef bint more = True
        while more:
            with nogil:
                more = self._step()
            PyErr_CheckSignals()
            if progress is not None:
                progress(self._n_ids)

    def merges(self):
        """(left id, right id, how often the pair occurred) in order of learning; merge i makes id 256 + i."""
        cdef uint32_t i
        return [
            (self._merges[i].left, self._merges[i].right, self._merges[i].count)
            for i in range(self._n_ids - N_BASE)
        ]


cdef inline bint _better(const Entry* a, const Entry* b) noexcept nogil:
    return a.count > b.count or (a.count == b.count and a.key < b.key)
