"""Data of the merge learner (cells, pairs, occurrences), and the merge of one pair. See merge_learner.pyx."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from fastbpe._core.common.hashing cimport mix
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.hash_tables cimport NONE

cdef extern from *:
    """
    #define FASTBPE_TAIL UINT32_C(0x80000000)
    #define FASTBPE_DEAD (UINT32_MAX - 1)
    """
    const uint32_t TAIL "FASTBPE_TAIL"  # flag of the last cell of a symbol that has several cells
    const uint32_t DEAD "FASTBPE_DEAD"  # value of a cell inside a symbol; never an id, since ids stay below TAIL

cdef enum:
    CELLS_AHEAD = 24  # distance, in occurrences, at which cells and marks are prefetched
    CELLS_PER_MARK = 32


cdef struct Cell:
    uint32_t symbol  # an id, id | TAIL, DEAD, or NONE between pieces
    uint32_t pair  # in the first cell of a symbol: index of the pair that it begins, if a symbol follows


cdef struct PieceMark:
    # Marks of the cells that precede a piece, for CELLS_PER_MARK neighbouring cells: they find a cell's piece.
    uint32_t starts  # bit i: the i-th cell is the NONE before a piece
    uint32_t n_before  # number of marked cells before these


cdef struct Pair:
    uint32_t left
    uint32_t right
    size_t start  # its slice of State.occurrences
    uint32_t n  # number of occurrences; later merges may have removed some
    uint32_t next  # next pair in the same bucket; until the pair is queued, occurrences written to the slice


cdef struct NewOccurrence:
    # An occurrence of a pair that the current merge creates. It waits until the pair has a slice.
    uint32_t pair
    uint32_t at  # cell where it begins


cdef struct QueuedPair:
    int64_t count  # when the pair was queued; later merges may have lowered it
    uint64_t key  # of two pairs with equal counts, the one with the smaller key is merged first
    uint32_t pair


cdef struct State:
    # Arrays that a merge uses. They are a struct so that the inner loops can keep its fields in registers.
    Cell* cells
    int64_t* weights  # count of each piece
    PieceMark* marks  # of all cells
    uint32_t* length  # cells of each id
    int64_t* counts  # count of each pair
    Pair* pairs
    uint32_t n_pairs
    uint32_t* occurrences  # a slice per pair, in the order of the pairs: the cells where it begins, ascending
    uint32_t* left_pair  # by id L: index of the pair (L, new id) of the current merge; NONE: no such pair yet
    uint32_t* right_pair  # by id R: the same for the pair (new id, R)
    NewOccurrence* new_occurrences
    size_t n_new
    bint no_overlaps  # in a run of n equal symbols, count n // 2 pairs instead of n - 1
    uint32_t n_in_run  # number of adjacent new symbols at the current position of the merge


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
    pair.start = pair.n = pair.next = 0
    s.counts[index] = 0
    s.n_pairs += 1
    return index


cdef inline uint32_t n_ones(uint32_t bits) noexcept nogil:
    """Count the bits that are 1 (SWAR: sums in pairs, then in groups of 4, then in bytes)."""
    bits -= (bits >> 1) & 0x55555555u
    bits = (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u)
    return (((bits + (bits >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24


cdef inline int64_t weight_at(const State* s, uint32_t at) noexcept nogil:
    """Return the count of the piece that contains a cell."""
    cdef const PieceMark* mark = &s.marks[at / CELLS_PER_MARK]
    return s.weights[mark.n_before + n_ones(mark.starts << (CELLS_PER_MARK - 1 - at % CELLS_PER_MARK)) - 1]


cdef inline void add_occurrence(State* s, uint32_t index, uint32_t at) noexcept nogil:
    """Write an occurrence of a pair to its slice.

    Requires: the slice has space.
    """
    cdef Pair* pair = &s.pairs[index]
    s.occurrences[pair.start + pair.next] = at
    pair.next += 1


cdef inline bint _loses_pair(const State* s, uint32_t at, uint32_t symbol, bint is_last) noexcept nogil:
    """Tell whether a run of equal symbols, counted as n // 2 pairs, loses a pair with its last or first symbol.

    A run of n symbols becomes one of n - 1, so it loses a pair only if n is even.

    at: start of that symbol.
    is_last: the run loses its last symbol; False: its first.
    """
    cdef const Cell* cell = s.cells + at
    cdef uint32_t n = 1, length = s.length[symbol]
    while (cell - 1).symbol & ~TAIL == symbol if is_last else (cell + length).symbol == symbol:
        cell = cell - length if is_last else cell + length
        n += 1
    return n % 2 == 0


cdef inline void _note_occurrence(State* s, uint32_t pair, uint32_t at, int64_t weight) noexcept nogil:
    """Record an occurrence of a pair that the current merge creates."""
    cdef NewOccurrence* new = &s.new_occurrences[s.n_new]
    new.pair = pair
    new.at = at
    s.n_new += 1
    s.pairs[pair].n += 1
    s.counts[pair] += weight
    s.cells[at].pair = pair


cdef inline void merge_some(
    State* s, const Pair* pair, uint32_t merged, uint32_t from_, uint32_t to
) noexcept nogil:
    """Merge a pair where it still occurs, among its occurrences from_ to `to` (exclusive).

    merged: the new id.

    Requires: length[merged] is set; new_occurrences has space for two items per occurrence; pairs has space for
    two new pairs per occurrence, or for two per id if these are fewer.
    Ensures: the counts of all pairs except the merged one are right. New pairs have n and counts, but no slices
    yet.
    """
    cdef Cell* cells = s.cells
    cdef const uint32_t* length = s.length
    cdef const uint32_t* occurrences = s.occurrences + pair.start
    cdef uint32_t i, at, right_at, after, left, right, left_at = 0
    cdef uint32_t n_left = length[pair.left], n_both = n_left + length[pair.right]
    cdef int64_t weight
    # With no_overlaps: in a run of equal symbols whose own pair is merged, only the count of that pair would differ. Not
    # to look for the end of the run keeps its merges linear.
    cdef bint counts_runs = s.no_overlaps and pair.left != pair.right
    for i in range(from_, to):
        if i + CELLS_AHEAD < to:
            prefetch(&cells[occurrences[i + CELLS_AHEAD]])
            prefetch(&s.marks[occurrences[i + CELLS_AHEAD] / CELLS_PER_MARK])
        at = occurrences[i]
        right_at = at + n_left
        if cells[at].symbol != pair.left or cells[right_at].symbol != pair.right:
            continue
        after = at + n_both
        weight = weight_at(s, at)
        left = cells[at - 1].symbol
        right = cells[after].symbol
        if left != NONE:
            left &= ~TAIL
            left_at = at - length[left]
            if not counts_runs or left != pair.left or _loses_pair(s, at, left, True):
                s.counts[cells[left_at].pair] -= weight
        if right != NONE and (
            not counts_runs or right != pair.right or _loses_pair(s, right_at, right, False)
        ):
            s.counts[cells[right_at].pair] -= weight
        cells[right_at].symbol = DEAD
        cells[at].symbol = merged
        cells[after - 1].symbol = merged | TAIL
        if left != NONE:
            if s.left_pair[left] == NONE:
                s.left_pair[left] = new_pair(s, left, merged)
            # With no_overlaps, of a run of new symbols, the pairs that end at the second, fourth, … symbol count.
            s.n_in_run = s.n_in_run + 1 if left == merged else 1
            _note_occurrence(
                s, s.left_pair[left], left_at,
                0 if s.no_overlaps and left == merged and s.n_in_run % 2 else weight,
            )
        else:
            s.n_in_run = 1
        if right != NONE:  # `right` is never the new id: symbols to the right are merged later
            if s.right_pair[right] == NONE:
                s.right_pair[right] = new_pair(s, merged, right)
            _note_occurrence(s, s.right_pair[right], at, weight)


cdef inline bint better(const QueuedPair* a, const QueuedPair* b) noexcept nogil:
    """Tell whether queued pair a is merged before b. Returns False if counts and keys are equal."""
    return a.count > b.count or (a.count == b.count and a.key < b.key)


# Hash index of pairs: open addressing with linear probing, at most a quarter full. A slot contains no key, because the
# caller reads the pair anyway. MergeLearner needs an index only to find the first pairs, because an array finds the
# pairs that a merge creates; Corpus in parity_learner keeps one of all pairs.

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
