"""Sorting by 64-bit keys, and of pieces: by their bytes, or by the position of their first occurrence.

Many keys are equal, so a three-way quicksort (less, equal, greater) sorts them. Positions are sorted by digits.
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
    cdef uint64_t pivot
    cdef size_t less, at, greater
    while n > FEW:
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
            sort_keyed(items, less)
            items, n = items + greater, n - greater
        else:
            sort_keyed(items + greater, n - greater)
            n = less
    _insertion_sort(items, n)


cdef int sort_by_first(PieceCount** pieces, size_t* capacity, size_t n) except -1 nogil:
    """Sort pieces by their first occurrence: an LSD radix sort that skips digits in which all are equal.

    pieces, capacity: memory of the pieces, and the number of pieces that fit; both may change. MemoryError leaves
        them unchanged.
    """
    cdef size_t i, at, here
    cdef size_t[1 << DIGIT_BITS] starts
    cdef uint32_t shift, digit
    cdef PieceCount* sorted_
    cdef PieceCount* other = NULL
    cdef size_t sorted_capacity = capacity[0], other_capacity = 0
    resize(<void**> &other, &other_capacity, max(n, <size_t> 1), sizeof(PieceCount))
    sorted_ = pieces[0]
    for digit in range(N_DIGITS):
        shift = digit * DIGIT_BITS
        memset(starts, 0, sizeof(starts))
        for i in range(n):
            starts[sorted_[i].first >> shift & ((1 << DIGIT_BITS) - 1)] += 1
        if n and starts[sorted_[0].first >> shift & ((1 << DIGIT_BITS) - 1)] == n:
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


cdef void _sort_by_bytes(
    const uint8_t* arena, const PieceCount* pieces, Keyed* order, size_t n, size_t depth
) noexcept nogil:
    """Sort pieces that share their first `depth` bytes by the later ones. Requires: as for sort_pieces()."""
    cdef const PieceCount* piece
    cdef size_t i, longest = 0
    if n < 2:
        return
    for i in range(n):
        piece = &pieces[order[i].at]
        longest = max(longest, <size_t> piece.n_bytes)
        order[i].key = head_of(arena + piece.start + depth, piece.n_bytes - min(depth, <size_t> piece.n_bytes))
    if longest > depth:
        sort_pieces(arena, pieces, order, n, n, depth + 8)


cdef void sort_pieces(
    const uint8_t* arena, const PieceCount* pieces, Keyed* order, size_t n, size_t n_first, size_t depth
) noexcept nogil:
    """Sort pieces, given by their indices `at`, by their keys, and pieces with equal keys by their bytes.

    n_first: number of pieces to order by their bytes; the pieces behind them are ordered by their keys alone.
    depth: number of leading bytes that pieces with equal keys share.

    Requires: no piece equals another one followed by zeros, because keys are padded with zeros.
    """
    cdef size_t i = 0, run
    sort_keyed(order, n)
    while i < n_first:
        run = i + 1
        while run < n and order[run].key == order[i].key:
            run += 1
        _sort_by_bytes(arena, pieces, order + i, run - i, depth)
        i = run


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


cdef inline uint64_t _middle(uint64_t a, uint64_t b, uint64_t c) noexcept nogil:
    """Return the median of three."""
    return max(min(a, b), min(max(a, b), c))
