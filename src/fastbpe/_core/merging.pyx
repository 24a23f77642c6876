"""Merging many new pieces side by side, for ranked vocabularies.

Merging one piece waits for memory: each merge asks for two pairs, whose slots lie anywhere in megabytes, and
only then is it known what to merge next. Many pieces take turns instead, each asking for its slots and
letting the others go on until they have come: about 500 ns a new word one after another, 260 side by side, and 210
where simd/merging.h does it.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.bits cimport highest_bit, lowest_bit
from fastbpe._core.memory cimport prefetch
from fastbpe._core.spelling cimport begin_characters, is_ascii, leftmost, spell
from fastbpe._core.tables cimport NO_KEY, pair_home, pair_key
from fastbpe._core.vocabulary cimport Tables

import os


cdef extern from "simd/merging.h" nogil:
    ctypedef struct fb_new_piece:
        const uint8_t* piece
        uint32_t n_bytes
        uint32_t* ids
        uint32_t* n_ids

    ctypedef struct fb_merge_tables:
        const uint64_t* pairs
        unsigned int shift
        const uint32_t* byte_ids
        const int32_t* byte_keys

    cdef enum:
        FB_ABREAST

    bint fb_can_merge()
    void fb_merge_avx512(const fb_merge_tables* tables, const fb_new_piece* pieces, size_t n)

cdef bint _has_avx512 = fb_can_merge() and os.environ.get("FASTBPE_SIMD", "") in ("", "avx512", "avx512vbmi2")

cdef enum:
    LANES = 8


cdef void merge_side_by_side(const Tables* tables, Merging* pieces, size_t n) noexcept nogil:
    """Merge up to MOST_PIECES of 1 to MOST_BYTES bytes; then each has n_ids ids. The tables must be ranked."""
    if _has_avx512 and tables.characters == NULL and tables.tied_key == NO_KEY:
        _merge_bytes(tables, pieces, n)
    else:
        _merge_abreast(tables, pieces, n)


cdef void _merge_abreast(const Tables* tables, Merging* pieces, size_t n) noexcept nogil:
    """Who is done makes room for the next, so that there are always as many abreast."""
    cdef Merging* active[FB_ABREAST]
    cdef size_t i, n_kept, n_begun = min(n, <size_t> FB_ABREAST), n_active = n_begun
    for i in range(n_begun):
        active[i] = &pieces[i]
        _begin(tables, active[i])
    while n_active:
        n_kept = 0
        for i in range(n_active):
            active[n_kept] = active[i]
            if _step(tables, active[i]):
                n_kept += 1
            elif n_begun < n:
                active[n_kept] = &pieces[n_begun]
                _begin(tables, active[n_kept])
                n_begun += 1
                n_kept += 1
        n_active = n_kept


cdef void _merge_bytes(const Tables* tables, Merging* pieces, size_t n) noexcept nogil:
    cdef fb_merge_tables merge_tables
    cdef fb_new_piece[MOST_PIECES] new_pieces
    cdef size_t i
    merge_tables.pairs, merge_tables.shift = tables.pairs.ranked, tables.pairs.shift
    merge_tables.byte_ids, merge_tables.byte_keys = <const uint32_t*> tables.byte_ids, tables.byte_keys
    for i in range(n):
        new_pieces[i].piece, new_pieces[i].n_bytes = pieces[i].piece, pieces[i].n_bytes
        new_pieces[i].ids, new_pieces[i].n_ids = pieces[i].ids, &pieces[i].n_ids
    fb_merge_avx512(&merge_tables, new_pieces, n)


cdef inline void _begin(const Tables* tables, Merging* m) noexcept nogil:
    cdef uint32_t i
    m.n_keys = (m.n_bytes + LANES - 1) // LANES * LANES
    m.alive = <uint32_t> 0xFFFFFFFF >> (MOST_BYTES - m.n_bytes)
    m.at = m.left = m.right = m.has_left = m.has_right = 0
    if tables.characters != NULL and not is_ascii(m.piece, m.n_bytes):
        for i in range(m.n_keys):
            m.keys[i] = NO_KEY
        m.alive = <uint32_t> begin_characters(tables, m.piece, m.n_bytes, m.ids, m.keys)
        return
    for i in range(m.n_bytes):
        m.ids[i] = tables.byte_ids[m.piece[i]]
    for i in range(m.n_bytes - 1):
        m.keys[i] = tables.byte_keys[m.piece[i] << 8 | m.piece[i + 1]] | <int32_t> i
    for i in range(m.n_bytes - 1, m.n_keys):
        m.keys[i] = NO_KEY


cdef inline bint _step(const Tables* tables, Merging* m) noexcept nogil:
    """Take in what was asked for, do the best merge and ask for its pairs; False if there is none to do."""
    cdef int32_t best = NO_KEY, left_key, right_key
    cdef uint32_t i, at = m.at, left = m.left, right, above, below
    for i in range(m.n_keys):
        best = min(best, m.keys[i])
    right_key = pair_key(&tables.pairs, m.ids[at], m.ids[m.right]) | <int32_t> at
    left_key = pair_key(&tables.pairs, m.ids[left], m.ids[at]) | <int32_t> left
    right_key = right_key if m.has_right else NO_KEY
    left_key = left_key if m.has_left else NO_KEY
    m.keys[at] = right_key if m.has_right else m.keys[at]
    m.keys[left] = left_key if m.has_left else m.keys[left]
    best = min(best, min(left_key, right_key))
    if best == NO_KEY:
        _collect(tables, m)
        return False
    if best >= tables.tied_key:
        best = leftmost(tables, m.keys, m.n_bytes, best)
    m.at = at = best & 63
    m.ids[at] = best >> 6
    right = lowest_bit(m.alive & (~<uint32_t> 1 << at))
    m.alive ^= <uint32_t> 1 << right
    m.keys[at] = m.keys[right] = NO_KEY
    above = m.alive & (~<uint32_t> 0 << right)
    below = m.alive & ~(~<uint32_t> 0 << at)
    m.has_right, m.has_left = above != 0, below != 0
    m.right = lowest_bit(above) if above else at
    m.left = highest_bit(below) if below else at
    m.keys[m.left] = NO_KEY
    prefetch(&tables.pairs.ranked[pair_home(m.ids[at], m.ids[m.right], tables.pairs.shift)])
    prefetch(&tables.pairs.ranked[pair_home(m.ids[m.left], m.ids[at], tables.pairs.shift)])
    return True


cdef inline void _collect(const Tables* tables, Merging* m) noexcept nogil:
    cdef uint32_t rest = m.alive, n = 0, at
    while rest:
        at = lowest_bit(rest)
        rest &= rest - 1
        if tables.characters != NULL:  # what is written lies before the next symbol
            n += <uint32_t> spell(
                tables, m.ids[at], m.piece + at, (lowest_bit(rest) if rest else m.n_bytes) - at, m.ids + n
            )
        else:
            m.ids[n] = m.ids[at]
            n += 1
    m.n_ids = n
