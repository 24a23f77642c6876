"""Lines of a list of merges, and a test whether two of them join the same pair."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memset

from fastbpe._core.common.hashing cimport mix


cdef inline bint cut_merge(
    const uint8_t* left, uint32_t* n_left, const uint8_t** right, uint32_t* n_right
) noexcept:
    """Cut "left right" at its only space. Returns False for a version line, and unless there is just one space.

    n_left: length of the whole text before the call; the call sets it to the length of the left token.
    """
    cdef uint32_t n = n_left[0]
    if n >= 8 and memcmp(left, b"#version", 8) == 0:
        return False
    right[0] = <const uint8_t*> memchr(left, c' ', n)
    if right[0] == NULL:
        return False
    n_left[0] = <uint32_t> (right[0] - left)
    n_right[0] = n - n_left[0] - 1
    right[0] += 1
    return memchr(right[0], c' ', n_right[0]) == NULL


cdef inline bint pairs_are_distinct(const uint32_t* merges, size_t n_merges, uint64_t seed) noexcept:
    """Return True if no two merges join the same pair; False also if out of memory.

    Args:
        merges: left id, right id and merged id of each merge.
        seed: seed of the hash; random, so that nobody can make a file whose pairs collide.
    """
    cdef size_t n_slots = 4, mask, at, i
    cdef uint64_t* seen
    cdef uint64_t pair
    cdef bint are_distinct = True
    while n_slots < 2 * n_merges:
        n_slots *= 2
    seen = <uint64_t*> malloc(n_slots * sizeof(uint64_t))
    if seen == NULL:
        return False
    memset(seen, 0xFF, n_slots * sizeof(uint64_t))  # all ones: an empty slot; no pair, because ids are smaller
    mask = n_slots - 1
    for i in range(n_merges):
        pair = <uint64_t> merges[3 * i] << 32 | merges[3 * i + 1]
        at = <size_t> mix(pair ^ seed) & mask
        while seen[at] != <uint64_t> -1 and seen[at] != pair:
            at = (at + 1) & mask
        are_distinct = are_distinct and seen[at] != pair
        seen[at] = pair
    free(seen)
    return are_distinct
