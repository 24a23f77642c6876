"""Sorting by 64-bit keys, and of pieces: by their bytes, or by the position of their first occurrence.

Many keys are equal, so a three-way quicksort (less, equal, greater) sorts them. The author of a text could choose its
words so that pivots divide badly: after too many levels, heapsort goes on (introsort). Positions are sorted by digits.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fastbpe._core.common.bits cimport head_of
from fastbpe._core.common.growing cimport resize
from fastbpe._core.common.memory cimport resized

cdef enum:
    FEW = 16  # up to this number of items, insertion sort is fastest
    DIGIT_BITS = 11  # bits of a position that are sorted by one pass of the radix sort
    N_DIGITS = 6  # passes: 6 * 11 bits cover 64


cdef void sort_keyed(Keyed* items, size_t n) noexcept nogil:
    """Sort by keys; items with the same key end up in any order."""
    cdef size_t n_levels = 0
    while n >> n_levels:
        n_levels += 1
    _quick_sort(items, n, 2 * n_levels)


cdef void _quick_sort(Keyed* items, size_t n, size_t n_levels) noexcept nogil:
    """Sort by keys. n_levels: how often the items may be divided before heapsort goes on."""
    cdef uint64_t pivot
    cdef size_t less, at, greater
    while n > FEW:
        if not n_levels:
            _heap_sort(items, n)
            return
        n_levels -= 1
        pivot = _middle(items[0].key, items[n // 2].key, items[n - 1].key)
        less = at = 0
        greater = n
        while at < greater:
            if items[at].key < pivot:
                items[at], items[less] = items[less], items[at]
                less += 1
                at += 1
            elif items[at].key > pivot:
                greater -= 1
                items[at], items[greater] = items[greater], items[at]
            else:
                at += 1
        if less < n - greater:  # the smaller part first, so that the recursion is at most log n deep
            _quick_sort(items, less, n_levels)
            items, n = items + greater, n - greater
        else:
            _quick_sort(items + greater, n - greater, n_levels)
            n = less
    _insertion_sort(items, n)


cdef int sort_by_first(PieceCount** pieces, size_t* capacity, size_t n) except -1 nogil:
    """Sort pieces by their first occurrence: an LSD radix sort that skips digits in which all are equal.

    pieces, capacity: memory of the pieces, and the number of pieces that fit; both may change. MemoryError leaves
        them unchanged.

    Requires: n is not 0.
    """
    cdef size_t i, at, here
    cdef size_t[1 << DIGIT_BITS] starts
    cdef uint32_t shift, digit
    cdef PieceCount* sorted_
    cdef PieceCount* other = NULL
    cdef size_t sorted_capacity = capacity[0], other_capacity = 0
    resize(<void**> &other, &other_capacity, n, sizeof(PieceCount))
    sorted_ = pieces[0]
    for digit in range(N_DIGITS):
        shift = digit * DIGIT_BITS
        memset(starts, 0, sizeof(starts))
        for i in range(n):
            starts[sorted_[i].first >> shift & ((1 << DIGIT_BITS) - 1)] += 1
        if starts[sorted_[0].first >> shift & ((1 << DIGIT_BITS) - 1)] == n:
            continue
        at = 0
        for i in range(1 << DIGIT_BITS):
            here, starts[i] = starts[i], at
            at += here
        for i in range(n):
            here = sorted_[i].first >> shift & ((1 << DIGIT_BITS) - 1)
            other[starts[here]] = sorted_[i]
            starts[here] += 1
        sorted_, other = other, sorted_
        sorted_capacity, other_capacity = other_capacity, sorted_capacity
    resized(other, other_capacity * sizeof(PieceCount), 0)
    pieces[0], capacity[0] = sorted_, sorted_capacity
    return 0


cdef void sort_pieces(
    const uint8_t* arena, const PieceCount* pieces, Keyed* order, size_t n, size_t n_first
) noexcept nogil:
    """Sort pieces, given by their indices `at`, by their keys, and pieces with equal keys by their bytes.

    n_first: number of pieces to order by their bytes; the pieces behind them are ordered by their keys alone.

    Requires: of pieces with equal keys, none equals another one followed by zeros, with which the next keys are padded.
    """
    cdef size_t i = 0, end
    sort_keyed(order, n)
    while i < n_first:
        end = _run_end(order, n, i)
        _sort_by_bytes(arena, pieces, order + i, end - i, 0)
        i = end


cdef void _sort_by_bytes(
    const uint8_t* arena, const PieceCount* pieces, Keyed* order, size_t n, size_t depth
) noexcept nogil:
    """Sort pieces that share their first `depth` bytes by the later ones. Requires: as for sort_pieces()."""
    cdef const PieceCount* piece
    cdef size_t i, end, longest, n_longest
    while n > 1:
        for i in range(n):
            piece = &pieces[order[i].at]
            order[i].key = head_of(arena + piece.start + depth, piece.n_bytes - min(depth, <size_t> piece.n_bytes))
        sort_keyed(order, n)
        depth += 8
        # The loop goes on with the longest run of equal keys. So the recursion is at most log n deep, however long the
        # pieces are.
        i = longest = n_longest = 0
        while i < n:
            end = _run_end(order, n, i)
            if end - i > n_longest:
                _sort_by_bytes(arena, pieces, order + longest, n_longest, depth)
                longest, n_longest = i, end - i
            else:
                _sort_by_bytes(arena, pieces, order + i, end - i, depth)
            i = end
        order, n = order + longest, n_longest


cdef inline size_t _run_end(const Keyed* order, size_t n, size_t at) noexcept nogil:
    """Return the end of the run of equal keys that begins at index `at`."""
    cdef size_t end = at + 1
    while end < n and order[end].key == order[at].key:
        end += 1
    return end


cdef void _insertion_sort(Keyed* items, size_t n) noexcept nogil:
    cdef size_t i, at
    cdef Keyed item
    for i in range(1, n):
        item = items[i]
        at = i
        while at and items[at - 1].key > item.key:
            items[at] = items[at - 1]
            at -= 1
        items[at] = item


cdef void _heap_sort(Keyed* items, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n // 2, 0, -1):
        _sift_down(items, n, i - 1)
    for i in range(n - 1, 0, -1):
        items[0], items[i] = items[i], items[0]
        _sift_down(items, i, 0)


cdef void _sift_down(Keyed* items, size_t n, size_t at) noexcept nogil:
    """Move the item at index `at` down to its place in a heap with the greatest key at the top."""
    cdef Keyed item = items[at]
    cdef size_t child = 2 * at + 1
    while child < n:
        if child + 1 < n and items[child + 1].key > items[child].key:
            child += 1
        if items[child].key <= item.key:
            break
        items[at] = items[child]
        at = child
        child = 2 * at + 1
    items[at] = item


cdef inline uint64_t _middle(uint64_t a, uint64_t b, uint64_t c) noexcept nogil:
    """Return the median of three."""
    return max(min(a, b), min(max(a, b), c))
