"""Learning merges from counted pieces: exact greedy BPE in time near-linear in the distinct pieces.

Symbols. All distinct pieces lie in one array of cells, a NONE before and after each. A symbol is the cell its
first byte has: it holds the symbol's id; the cell of its last byte, if another, holds the id with TAIL set. So
the array is a doubly linked list without links: the right neighbour starts `length[id]` cells on, the left one
ends one cell before.

Pairs. Beside each symbol stands the index of the pair it begins, so that counts of the neighbours' pairs
fall without a look-up. A pair that a merge gives birth to contains the new id, so it is found by an array
over its other half. Its occurrences never grow after that merge: one slice of an arena holds them. No two
pairs of bytes ever make the same bytes (`fastbpe._reference.training` says why), so every merge has an id of its
own; where a base vocabulary comes first, which may be of any making, a pair whose bytes are a token is passed over.

Choice. Counts only fall, so whoever waits may promise too much: a pair that no longer has the count it waits
with goes back with what is true now. Counts below N_BUCKETS wait in a list each, and only those of the count that
is being merged lie in the heap, which so stays small; larger ones all do.

What costs is memory: a merge touches cells, counts and weights at random. So the occurrences ahead are asked for
early, and counts lie apart from what else a pair has. Huge pages cost more to lay out than they bring.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.counter cimport PieceCount, PieceCounter
from fastbpe._core.memory cimport prefetch
from fastbpe._core.merge cimport Ids, encode_piece, ids_free
from fastbpe._core.symbols cimport (
    DEAD, FAR, TAIL, Cell, Entry, Occurrence, Pair, PairIndex, Pending, State, better, index_slot, merge_some,
    new_pair, place, stands,
)
from fastbpe._core.tables cimport NONE
from fastbpe._core.vocabulary cimport Tables, Vocabulary

cdef enum:
    N_BYTES = 256
    N_BUCKETS = 4096
    BLOCK = 1 << 19  # occurrences: the arena grows by 4 MB

cdef const size_t WORK_PER_LOOK = 500_000  # occurrences and pairs between two looks at signals and progress


cdef struct Merge:
    uint32_t left
    uint32_t right
    int64_t count


cdef struct Block:
    Block* next
    Occurrence items[1]


cdef void* _allocated(size_t n_items, size_t item_size) except NULL nogil:
    cdef void* memory = malloc(max(n_items, <size_t> 1) * item_size)
    if memory == NULL:
        with gil:
            raise MemoryError(f"no memory for {n_items * item_size} bytes of training state")
    return memory


cdef int _grow(void** items, size_t capacity, size_t item_size) except -1 nogil:
    cdef void* grown = realloc(items[0], capacity * item_size)
    if grown == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity * item_size} bytes of training state")
    items[0] = grown
    return 0


@cython.final
cdef class Learner:
    """Learns merges over the pieces of a PieceCounter, which must not change meanwhile.

    max_ids: the ids to end with; less than there are before any merge means none. Of two pairs that occur equally
    often, the one met first in the pieces is merged with ties_first, else the one whose left id, then right id,
    ranks lower; base_ranks (256 numbers) says how bytes rank among themselves, None: by value.

    base: pieces are made of the tokens of this vocabulary, as it encodes them, and not of bytes; n_base: the first
    id that a merge may have, above all of the base's.
    """

    cdef State _state
    cdef int64_t _n_pieces
    cdef size_t _n_cells, _pairs_capacity, _pending_capacity
    cdef uint32_t* _rank  # of each id, for ties
    cdef Block* _blocks  # of occurrences; the first is being filled
    cdef size_t _n_free  # occurrences left in it
    cdef Occurrence* _free
    cdef Entry* _heap
    cdef size_t _n_heap, _heap_capacity
    cdef uint32_t _buckets[N_BUCKETS]  # first pair of each count
    cdef uint32_t _level  # the heap holds the pairs of this count and more
    cdef uint32_t _n_base, _n_ids, _max_ids
    cdef int64_t _min_count
    cdef uint32_t _max_token_bytes
    cdef bint _ties_first, _is_learning
    cdef list _tokens  # with a base: the bytes of every id
    cdef set _known  # the same
    cdef Merge* _merges  # by order; merge i makes the id n_base + i
    cdef size_t _work
    cdef object _progress

    def __init__(
        self, PieceCounter counter not None, *, uint32_t max_ids, bint ties_first=False, int64_t min_count=1,
        max_token_bytes=None, base_ranks=None, Vocabulary base=None, uint32_t n_base=N_BYTES,
    ):
        if self._state.cells != NULL:
            raise RuntimeError("a Learner is made once")
        self._n_ids = self._n_base = n_base
        counter.settle()
        self._min_count = max(min_count, 1)
        self._max_token_bytes = NONE if max_token_bytes is None else min(max_token_bytes, NONE)
        self._ties_first = ties_first
        self._level = N_BUCKETS
        memset(self._buckets, 0xFF, sizeof(self._buckets))
        if base is not None:
            self._tokens = base.tokens()
            self._tokens += [b""] * (n_base - len(self._tokens))
            self._known = set(self._tokens)
        _check_counts(counter)
        self._allocate(counter, max_ids)
        cdef uint32_t i
        for i in range(n_base):
            self._state.length[i] = 1 if base is None else len(self._tokens[i])
        for i in range(self._max_ids):
            self._rank[i] = base_ranks[i] if base_ranks is not None and i < N_BYTES else i
        cdef const Tables* tables = NULL if base is None else &base.tables
        with nogil:
            self._lay_out(counter, tables)
            self._first_pairs(counter)

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
        free(self._rank)
        free(self._heap)
        free(self._merges)
        while self._blocks != NULL:
            block = self._blocks
            self._blocks = block.next
            free(block)

    cdef int _allocate(self, PieceCounter counter, uint32_t max_ids) except -1:
        cdef size_t n_cells = counter.n_arena + counter.n_pieces + 2, n_ids
        if n_cells >= DEAD:
            raise MemoryError(f"{n_cells} bytes of distinct pieces: more than 4 GiB cannot be learned from")
        # Every merge takes a symbol away at least, so that no array need be larger than the text, whatever is asked.
        n_ids = min(<size_t> max(max_ids, self._n_base), self._n_base + counter.n_arena)
        self._max_ids = <uint32_t> n_ids
        self._n_cells = n_cells
        self._state.cells = <Cell*> _allocated(n_cells, sizeof(Cell))
        self._state.weights = <int64_t*> _allocated(counter.n_pieces, sizeof(int64_t))
        self._state.length = <uint32_t*> _allocated(n_ids, sizeof(uint32_t))
        self._state.left_pair = <uint32_t*> _allocated(n_ids, sizeof(uint32_t))
        self._state.right_pair = <uint32_t*> _allocated(n_ids, sizeof(uint32_t))
        self._rank = <uint32_t*> _allocated(n_ids, sizeof(uint32_t))
        self._merges = <Merge*> _allocated(n_ids - self._n_base, sizeof(Merge))
        memset(self._state.left_pair, 0xFF, n_ids * sizeof(uint32_t))
        memset(self._state.right_pair, 0xFF, n_ids * sizeof(uint32_t))
        return 0

    # Laying out

    cdef int _lay_out(self, PieceCounter counter, const Tables* base) except -1 nogil:
        """Write every piece as symbols: its bytes, or what the base vocabulary makes of them."""
        cdef Cell* cells = self._state.cells
        cdef Cell* cell = cells
        cdef PieceCount* piece
        cdef const uint8_t* p
        cdef size_t w, i
        cdef Ids ids
        memset(&ids, 0, sizeof(ids))
        try:
            for w in range(counter.n_pieces):
                cell.symbol = NONE
                cell += 1
                piece = &counter.pieces[w]
                self._state.weights[w] = piece.count
                self._n_pieces += piece.count
                p = counter.arena + piece.start
                if base == NULL:
                    for i in range(piece.n_bytes):
                        cell[i].symbol = p[i]
                else:
                    ids.n = 0
                    encode_piece(base, p, piece.n_bytes, &ids)
                    self._write(cell, &ids)
                cell += piece.n_bytes
                self._worked(piece.n_bytes + 1)
        finally:
            ids_free(&ids)
        cell.symbol = NONE
        self._n_cells = cell - cells + 1
        return 0

    cdef void _write(self, Cell* cell, const Ids* ids) noexcept nogil:
        cdef size_t i, k, length
        for i in range(ids.n):
            length = self._state.length[ids.items[i]]
            for k in range(length):
                cell[k].symbol = DEAD
            cell[length - 1].symbol = ids.items[i] | TAIL
            cell[0].symbol = ids.items[i]
            cell += length

    cdef int _first_pairs(self, PieceCounter counter) except -1 nogil:
        """Find every pair, count its occurrences, then put them into their slices."""
        cdef PairIndex index
        cdef Cell* cells = self._state.cells
        cdef uint32_t pair, at, left, right, last = <uint32_t> (self._n_cells - 1)
        cdef size_t start = 1, w, slot
        index.slots = NULL
        try:
            _index_grow(&index, &self._state, 1 << 14)
            for w in range(counter.n_pieces):
                at = <uint32_t> start
                while cells[at].symbol != NONE:
                    left = cells[at].symbol
                    right = cells[at + self._state.length[left]].symbol
                    if right == NONE:
                        break
                    slot = index_slot(&index, &self._state, left, right)
                    pair = index.slots[slot]
                    if pair == NONE:
                        self._reserve_pairs(1)
                        pair = index.slots[slot] = new_pair(&self._state, left, right)
                        if 4 * <size_t> self._state.n_pairs > index.mask:
                            _index_grow(&index, &self._state, 2 * (index.mask + 1))
                    self._state.pairs[pair].n += 1
                    self._state.counts[pair] += self._state.weights[w]
                    cells[at].pair = pair
                    at += self._state.length[left]
                start += counter.pieces[w].n_bytes + 1
                self._worked(counter.pieces[w].n_bytes)
            self._settle(0)
            start = 1
            for w in range(counter.n_pieces):
                at = <uint32_t> start
                while cells[at].symbol != NONE:
                    right = at + self._state.length[cells[at].symbol]
                    if cells[right].symbol == NONE:
                        break
                    prefetch(&self._state.pairs[cells[min(at + FAR, last)].pair])
                    place(&self._state, cells[at].pair, at, <uint32_t> w)
                    at = right
                start += counter.pieces[w].n_bytes + 1
                self._worked(counter.pieces[w].n_bytes)
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
        _grow(<void**> &self._state.pairs, wanted, sizeof(Pair))
        _grow(<void**> &self._state.counts, wanted, sizeof(int64_t))
        self._pairs_capacity = wanted
        return 0

    cdef int _settle(self, uint32_t first) except -1 nogil:
        """Give every pair from the first on a slice of the arena for its occurrences."""
        cdef uint32_t i, n
        cdef Block* block
        for i in range(first, self._state.n_pairs):
            n = self._state.pairs[i].n
            if n > self._n_free:
                self._n_free = max(<size_t> n, <size_t> BLOCK)
                block = <Block*> _allocated(1, sizeof(Block) + self._n_free * sizeof(Occurrence))
                block.next = self._blocks
                self._blocks = block
                self._free = block.items
            self._state.pairs[i].occurrences = self._free
            self._free += n
            self._n_free -= n
        return 0

    # Choosing

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """What decides between equal counts. With ties="first": the cell of the first occurrence left."""
        cdef Pair* pair = &self._state.pairs[index]
        if not self._ties_first:
            return (<uint64_t> self._rank[pair.left] << 32) | self._rank[pair.right]
        # An occurrence that is gone never comes back, so the slice forgets it for good.
        while pair.n and not stands(&self._state, pair, pair.occurrences[0].at):
            pair.occurrences += 1
            pair.n -= 1
        return pair.occurrences[0].at if pair.n else NONE

    cdef int _offer_from(self, uint32_t first) except -1 nogil:
        """Offer the pairs from the first on, but for those that would make too long a token."""
        cdef uint32_t i
        cdef const Pair* pair
        for i in range(first, self._state.n_pairs):
            pair = &self._state.pairs[i]
            if <uint64_t> self._state.length[pair.left] + self._state.length[pair.right] <= self._max_token_bytes:
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

    cdef int _push(self, uint32_t pair) except -1 nogil:
        cdef Entry entry
        cdef size_t at = self._n_heap, parent
        if self._n_heap == self._heap_capacity:
            self._heap_capacity = max(2 * self._heap_capacity, <size_t> 1024)
            _grow(<void**> &self._heap, self._heap_capacity, sizeof(Entry))
        entry.count = self._state.counts[pair]
        entry.key = self._key(pair)
        entry.pair = pair
        while at:
            parent = (at - 1) >> 1
            if not better(&entry, &self._heap[parent]):
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
            if child + 1 < self._n_heap and better(&self._heap[child + 1], &self._heap[child]):
                child += 1
            if not better(&self._heap[child], &entry):
                break
            self._heap[at] = self._heap[child]
            at = child
            child = 2 * at + 1
        self._heap[at] = entry
        return top

    cdef uint32_t _best(self) except? 0xFFFFFFFF nogil:
        """Take the best pair; NONE when none is left."""
        cdef Entry top
        cdef uint32_t pair, following
        while True:
            while self._n_heap:
                self._worked(1)
                top = self._pop()
                if self._state.counts[top.pair] != top.count or (
                    self._ties_first and self._key(top.pair) != top.key
                ):
                    self._offer(top.pair)
                elif self._tokens is None or self._is_new(top.pair):
                    return top.pair
            if self._level <= self._min_count:
                return NONE
            self._level -= 1
            pair = self._buckets[self._level]
            while pair != NONE:
                following = self._state.pairs[pair].next
                self._offer(pair)
                pair = following
                self._worked(1)

    cdef bint _is_new(self, uint32_t pair) except -1 nogil:
        """Whether no token, of the base or learned, has the bytes that a pair would make."""
        cdef Pair* it = &self._state.pairs[pair]
        with gil:
            token = <bytes> self._tokens[it.left] + <bytes> self._tokens[it.right]
            if token in self._known:
                return False
            self._known.add(token)
            self._tokens.append(token)
        return True

    # Merging

    cdef int _merge(self, uint32_t index, uint32_t merged) except -1 nogil:
        """Merge one pair everywhere, left to right."""
        cdef Pair pair = self._state.pairs[index]
        cdef uint32_t first_new = self._state.n_pairs, i = 0, to
        cdef size_t k
        cdef Pending* pending
        self._reserve_pairs(min(2 * <size_t> pair.n, 2 * <size_t> self._n_ids))
        if 2 * <size_t> pair.n > self._pending_capacity:
            self._pending_capacity = 2 * <size_t> pair.n
            _grow(<void**> &self._state.pending, self._pending_capacity, sizeof(Pending))
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

    @property
    def n_pieces(self):
        """How many pieces there are, each as often as it was counted."""
        return self._n_pieces

    def merges(self):
        """(left id, right id, how often the pair occurred) in order of learning; merge i makes id n_base + i."""
        cdef uint32_t i
        return [
            (self._merges[i].left, self._merges[i].right, self._merges[i].count)
            for i in range(self._n_ids - self._n_base)
        ]


cdef int _check_counts(PieceCounter counter) except -1:
    """No pair's count can be more than all symbols together, each as often as its piece."""
    cdef int64_t left = INT64_MAX
    cdef size_t w
    cdef PieceCount* piece
    for w in range(counter.n_pieces):
        piece = &counter.pieces[w]
        if piece.count > left // max(piece.n_bytes, 1):
            raise OverflowError("the counts of the pieces add up to more than 2**63 - 1 symbols")
        left -= piece.count * max(piece.n_bytes, 1)
    return 0


cdef int _index_grow(PairIndex* index, const State* s, size_t n_slots) except -1 nogil:
    """Make the table anew with n_slots, a power of two, for the pairs that there are."""
    cdef uint32_t i
    free(index.slots)
    index.slots = NULL
    index.slots = <uint32_t*> _allocated(n_slots, sizeof(uint32_t))
    index.mask = n_slots - 1
    memset(index.slots, 0xFF, n_slots * sizeof(uint32_t))
    for i in range(s.n_pairs):
        index.slots[index_slot(index, s, s.pairs[i].left, s.pairs[i].right)] = i
    return 0
