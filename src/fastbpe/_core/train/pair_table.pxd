"""What merges are learned on: cells, pairs and their occurrences, and a merge itself. learning.pyx explains it."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.hash_tables cimport NONE, mix

cdef extern from *:
    """
    #define FASTBPE_TAIL UINT32_C(0x80000000)
    #define FASTBPE_DEAD (UINT32_MAX - 1)
    """
    const uint32_t TAIL "FASTBPE_TAIL"
    const uint32_t DEAD "FASTBPE_DEAD"  # a cell inside a symbol; no id, since ids stay below TAIL

cdef enum:
    FAR = 24  # occurrences ahead whose cells are asked for
    NEAR = 12  # and the counts of whose neighbours, once the cells are there


cdef struct Cell:
    uint32_t symbol
    uint32_t pair  # that the symbol begins, if another follows


cdef struct Occurrence:
    uint32_t at
    uint32_t piece


cdef struct Pair:
    uint32_t left
    uint32_t right
    Occurrence* occurrences  # NULL before they are settled
    uint32_t n  # occurrences, those that are gone by now included
    uint32_t n_placed  # occurrences that stand in the arena
    uint32_t next  # in the bucket


cdef struct Pending:
    uint32_t pair
    Occurrence occurrence


cdef struct QueuedPair:
    int64_t count
    uint64_t key  # of two pairs with equal counts, the one with the smaller key is merged
    uint32_t pair


cdef struct State:
    # What a merge works on; a struct, so that the inner loops can hold it in registers.
    Cell* cells
    int64_t* weights  # how often each piece occurs
    uint32_t* length  # of each id, in cells
    int64_t* counts  # of each pair
    Pair* pairs
    uint32_t n_pairs
    uint32_t* left_pair  # id L: pair (L, new id) of the present merge; NONE: not met yet
    uint32_t* right_pair
    Pending* pending  # occurrences of the pairs just born
    size_t n_pending


cdef inline bint stands(const State* s, const Pair* pair, uint32_t at) noexcept nogil:
    return s.cells[at].symbol == pair.left and s.cells[at + s.length[pair.left]].symbol == pair.right


cdef inline uint32_t new_pair(State* s, uint32_t left, uint32_t right) noexcept nogil:
    """A pair without occurrences; there must be room for it."""
    cdef uint32_t index = s.n_pairs
    cdef Pair* pair = &s.pairs[index]
    pair.left = left
    pair.right = right
    pair.occurrences = NULL
    pair.n = pair.n_placed = 0
    s.counts[index] = 0
    s.n_pairs += 1
    return index


cdef inline void place(State* s, uint32_t index, uint32_t at, uint32_t piece) noexcept nogil:
    cdef Pair* pair = &s.pairs[index]
    pair.occurrences[pair.n_placed].at = at
    pair.occurrences[pair.n_placed].piece = piece
    pair.n_placed += 1


cdef inline void _meet(State* s, uint32_t pair, uint32_t at, uint32_t piece, int64_t weight) noexcept nogil:
    """Note an occurrence of a pair that the present merge gives birth to."""
    cdef Pending* pending = &s.pending[s.n_pending]
    pending.pair = pair
    pending.occurrence.at = at
    pending.occurrence.piece = piece
    s.n_pending += 1
    s.pairs[pair].n += 1
    s.counts[pair] += weight
    s.cells[at].pair = pair


cdef inline void _ask_for(const State* s, const Pair* pair, uint32_t at) noexcept nogil:
    """Ask for the counts that a merge at this place will lower."""
    cdef uint32_t left
    if stands(s, pair, at):
        prefetch(&s.counts[s.cells[at + s.length[pair.left]].pair])
        left = s.cells[at - 1].symbol
        if left != NONE:
            prefetch(&s.counts[s.cells[at - s.length[left & ~TAIL]].pair])


cdef inline void merge_some(State* s, const Pair* pair, uint32_t merged, uint32_t from_, uint32_t to) noexcept nogil:
    """Merge a pair where its occurrences from_ to `to` still stand."""
    cdef Cell* cells = s.cells
    cdef const uint32_t* length = s.length
    cdef const Occurrence* occurrences = pair.occurrences
    cdef uint32_t i, at, right_at, after, left, right, left_at = 0
    cdef uint32_t n_left = length[pair.left], n_both = n_left + length[pair.right]
    cdef int64_t weight
    for i in range(from_, to):
        if i + FAR < to:
            prefetch(&cells[occurrences[i + FAR].at])
            prefetch(&s.weights[occurrences[i + FAR].piece])
        if i + NEAR < to:
            _ask_for(s, pair, occurrences[i + NEAR].at)
        at = occurrences[i].at
        right_at = at + n_left
        if cells[at].symbol != pair.left or cells[right_at].symbol != pair.right:
            continue
        after = at + n_both
        weight = s.weights[occurrences[i].piece]
        left = cells[at - 1].symbol
        right = cells[after].symbol
        if left != NONE:
            left &= ~TAIL
            left_at = at - length[left]
            s.counts[cells[left_at].pair] -= weight
        if right != NONE:
            s.counts[cells[right_at].pair] -= weight
        cells[right_at].symbol = DEAD
        cells[at].symbol = merged
        cells[after - 1].symbol = merged | TAIL
        if left != NONE:
            if s.left_pair[left] == NONE:
                s.left_pair[left] = new_pair(s, left, merged)
            _meet(s, s.left_pair[left], left_at, occurrences[i].piece, weight)
        if right != NONE:  # never the new id itself: what stands to the right is merged later
            if s.right_pair[right] == NONE:
                s.right_pair[right] = new_pair(s, merged, right)
            _meet(s, s.right_pair[right], at, occurrences[i].piece, weight)


cdef inline bint better(const QueuedPair* a, const QueuedPair* b) noexcept nogil:
    return a.count > b.count or (a.count == b.count and a.key < b.key)


# The pairs that there are before any merge, by their ids; open addressing, at most a quarter full. Later ones need
# no look-up. A slot has no key of its own: who finds a pair touches it anyway.

cdef struct PairIndex:
    uint32_t* slots  # NONE: empty
    size_t mask


cdef inline size_t index_slot(const PairIndex* index, const State* s, uint32_t left, uint32_t right) noexcept nogil:
    """Where a pair stands, or would."""
    cdef size_t i = <size_t> mix((<uint64_t> left << 32) | right) & index.mask
    cdef uint32_t pair = index.slots[i]
    while pair != NONE and (s.pairs[pair].left != left or s.pairs[pair].right != right):
        i = (i + 1) & index.mask
        pair = index.slots[i]
    return i
