"""Cells, pairs and occurrences, and the merge of one pair. merge_learner.pyx explains them."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.hash_tables cimport NONE, mix

cdef extern from *:
    """
    #define FASTBPE_TAIL UINT32_C(0x80000000)
    #define FASTBPE_DEAD (UINT32_MAX - 1)
    """
    const uint32_t TAIL "FASTBPE_TAIL"  # set in the last cell of a symbol of several cells
    const uint32_t DEAD "FASTBPE_DEAD"  # in a cell inside a symbol; no id, since ids stay below TAIL

cdef enum:
    CELLS_AHEAD = 24  # occurrences from the present one to the one whose cells are prefetched


cdef struct Cell:
    uint32_t symbol  # an id, id | TAIL, DEAD, or NONE between pieces
    uint32_t pair  # in the first cell of a symbol: index of the pair that it begins, if another symbol follows


cdef struct Occurrence:
    uint32_t at  # cell where the pair begins
    uint32_t piece


cdef struct Pair:
    uint32_t left
    uint32_t right
    Occurrence* occurrences  # slice of the arena; NULL before the pair has one
    uint32_t n  # occurrences counted; some may be gone by now
    uint32_t n_placed  # occurrences written to the slice
    uint32_t next  # next pair of the bucket


cdef struct NewOccurrence:
    # An occurrence of a pair that the present merge creates: it waits for the pair's slice.
    uint32_t pair
    Occurrence occurrence


cdef struct QueuedPair:
    int64_t count
    uint64_t key  # of two pairs with equal counts, the one with the smaller key is merged
    uint32_t pair


cdef struct State:
    # Arrays that a merge works on; a struct, so that the inner loops can hold it in registers.
    Cell* cells
    int64_t* weights  # count of each piece
    uint32_t* length  # cells of each id
    int64_t* counts  # count of each pair
    Pair* pairs
    uint32_t n_pairs
    uint32_t* left_pair  # of id L: index of the pair (L, new id) of the present merge; NONE: it does not exist yet
    uint32_t* right_pair  # of id R: the same for (new id, R)
    NewOccurrence* new_occurrences
    size_t n_new


cdef inline bint stands(const State* s, const Pair* pair, uint32_t at) noexcept nogil:
    """Tell whether a pair still occurs at a cell."""
    return s.cells[at].symbol == pair.left and s.cells[at + s.length[pair.left]].symbol == pair.right


cdef inline uint32_t new_pair(State* s, uint32_t left, uint32_t right) noexcept nogil:
    """Append a pair without occurrences and return its index.

    Requires: there is space for it.
    """
    cdef uint32_t index = s.n_pairs
    cdef Pair* pair = &s.pairs[index]
    pair.left = left
    pair.right = right
    pair.occurrences = NULL
    pair.n = pair.n_placed = 0
    s.counts[index] = 0
    s.n_pairs += 1
    return index


cdef inline void add_occurrence(State* s, uint32_t index, uint32_t at, uint32_t piece) noexcept nogil:
    """Write an occurrence of a pair to its slice.

    Requires: the slice has space.
    """
    cdef Pair* pair = &s.pairs[index]
    pair.occurrences[pair.n_placed].at = at
    pair.occurrences[pair.n_placed].piece = piece
    pair.n_placed += 1


cdef inline void _note_occurrence(
    State* s, uint32_t pair, uint32_t at, uint32_t piece, int64_t weight
) noexcept nogil:
    """Note an occurrence of a pair that the present merge creates."""
    cdef NewOccurrence* new = &s.new_occurrences[s.n_new]
    new.pair = pair
    new.occurrence.at = at
    new.occurrence.piece = piece
    s.n_new += 1
    s.pairs[pair].n += 1
    s.counts[pair] += weight
    s.cells[at].pair = pair


cdef inline void merge_some(
    State* s, const Pair* pair, uint32_t merged, uint32_t from_, uint32_t to
) noexcept nogil:
    """Merge a pair at its occurrences from_ to `to` (exclusive), as far as they still stand.

    merged: the new id.

    Requires: length[merged] is set; new_occurrences has space for two per occurrence, and pairs for two per
    occurrence or two per id.
    Ensures: counts are right for all pairs but the merged one. New pairs have n and counts, but no slices.
    """
    cdef Cell* cells = s.cells
    cdef const uint32_t* length = s.length
    cdef const Occurrence* occurrences = pair.occurrences
    cdef uint32_t i, at, right_at, after, left, right, left_at = 0
    cdef uint32_t n_left = length[pair.left], n_both = n_left + length[pair.right]
    cdef int64_t weight
    for i in range(from_, to):
        if i + CELLS_AHEAD < to:
            prefetch(&cells[occurrences[i + CELLS_AHEAD].at])
            prefetch(&s.weights[occurrences[i + CELLS_AHEAD].piece])
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
            _note_occurrence(s, s.left_pair[left], left_at, occurrences[i].piece, weight)
        if right != NONE:  # not the new id yet: symbols to the right are merged later
            if s.right_pair[right] == NONE:
                s.right_pair[right] = new_pair(s, merged, right)
            _note_occurrence(s, s.right_pair[right], at, occurrences[i].piece, weight)


cdef inline bint better(const QueuedPair* a, const QueuedPair* b) noexcept nogil:
    """Tell whether a queued pair is merged before another one; False for equal counts and keys."""
    return a.count > b.count or (a.count == b.count and a.key < b.key)


# Index of the pairs that exist before the first merge: open addressing with linear probing, at most a quarter
# full. Later pairs need no look-up. A slot holds no key: the caller reads the pair anyway.

cdef struct PairIndex:
    uint32_t* slots  # NONE: empty
    size_t mask


cdef inline size_t index_slot(
    const PairIndex* index, const State* s, uint32_t left, uint32_t right
) noexcept nogil:
    """Return the slot of a pair, or the empty slot for it."""
    cdef size_t i = <size_t> mix((<uint64_t> left << 32) | right) & index.mask
    cdef uint32_t pair = index.slots[i]
    while pair != NONE and (s.pairs[pair].left != left or s.pairs[pair].right != right):
        i = (i + 1) & index.mask
        pair = index.slots[i]
    return i
