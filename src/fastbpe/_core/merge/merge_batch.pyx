"""Merging many new pieces side by side, for ranked vocabularies.

Merging one piece waits for memory: each merge asks for two pairs, whose slots lie anywhere in megabytes, and
only then is it known what to merge next. Many pieces take turns instead, each asking for its slots and
letting the others go on until they have come: about 500 ns a new word one after another, 260 side by side, on one
machine; on another 440 side by side, and 190 where simd/merging.h does it with AVX-512; on a third 280 and, with AVX2,
170.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.common.bits cimport highest_bit, lowest_bit
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.merge.symbol_ids cimport begin_characters, is_ascii, leftmost, spell
from fastbpe._core.common.hash_tables cimport NO_KEY, pair_home, pair_key
from fastbpe._core.merge.vocabulary cimport Tables

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

    ctypedef struct fb_new_pieces:
        const fb_new_piece* pieces
        size_t n

    ctypedef void (*fb_merge_fn)(const fb_merge_tables* tables, const fb_new_pieces* by_width) noexcept

    cdef enum:
        FB_ABREAST

    fb_merge_fn fb_choose_merge(const char* path)

cdef fb_merge_fn _merge = fb_choose_merge(os.environ.get("FASTBPE_SIMD", "").encode())


def use_path(str path not None):
    """Choose the instruction set as FASTBPE_SIMD does at import; "": the best. For tests, while nothing encodes."""
    global _merge
    _merge = fb_choose_merge(path.encode())


cdef enum:
    LANES = 8  # of a vector
    WIDTHS = 3  # of pieces: fewer than 16, 32 and 64 bytes


cdef struct Lane:
    # A piece that is being merged: see merge._merge_ranked. The symbols are its ids.
    Merging* merging
    uint64_t alive  # a bit for each symbol that is left
    uint32_t n_keys
    uint32_t at  # the symbol that was made last, and whose pairs were asked for
    uint32_t left
    uint32_t right
    bint has_left
    bint has_right
    int32_t keys[MAX_PIECE_BYTES + 1]


cdef void merge_side_by_side(const Tables* tables, Merging** pieces, size_t n) noexcept nogil:
    """Merge up to MAX_PIECES of 1 to MAX_PIECE_BYTES bytes; then each has n_ids ids. The tables must be ranked."""
    if _merge != NULL and tables.characters == NULL and tables.tied_key == NO_KEY:
        _merge_by_width(tables, pieces, n)
    else:
        _merge_abreast(tables, pieces, n)


cdef void _merge_by_width(const Tables* tables, Merging** pieces, size_t n) noexcept nogil:
    cdef fb_merge_tables merge_tables
    cdef fb_new_piece[WIDTHS][MAX_PIECES] new_pieces
    cdef fb_new_pieces[WIDTHS] by_width
    cdef fb_new_piece* new
    cdef size_t i, width
    merge_tables.pairs, merge_tables.shift = tables.pairs.ranked, tables.pairs.shift
    merge_tables.byte_ids, merge_tables.byte_keys = <const uint32_t*> tables.byte_ids, tables.byte_keys
    for width in range(WIDTHS):
        by_width[width].pieces, by_width[width].n = &new_pieces[width][0], 0
    for i in range(n):
        width = <size_t> (pieces[i].n_bytes >= 16) + <size_t> (pieces[i].n_bytes >= 32)
        new = &new_pieces[width][by_width[width].n]
        by_width[width].n += 1
        new.piece, new.n_bytes = pieces[i].piece, pieces[i].n_bytes
        new.ids, new.n_ids = pieces[i].ids, &pieces[i].n_ids
    _merge(&merge_tables, by_width)


cdef void _merge_abreast(const Tables* tables, Merging** pieces, size_t n) noexcept nogil:
    """Who is done makes room for the next, so that there are always as many abreast."""
    cdef Lane[FB_ABREAST] lanes
    cdef Lane* active[FB_ABREAST]
    cdef size_t i, n_kept, n_begun = min(n, <size_t> FB_ABREAST), n_active = n_begun
    for i in range(n_begun):
        active[i] = &lanes[i]
        _begin(tables, active[i], pieces[i])
    while n_active:
        n_kept = 0
        for i in range(n_active):
            active[n_kept] = active[i]
            if _step(tables, active[i]):
                n_kept += 1
            elif n_begun < n:
                _begin(tables, active[n_kept], pieces[n_begun])
                n_begun += 1
                n_kept += 1
        n_active = n_kept


cdef inline void _begin(const Tables* tables, Lane* lane, Merging* m) noexcept nogil:
    cdef uint32_t i
    lane.merging = m
    lane.n_keys = (m.n_bytes + LANES - 1) // LANES * LANES
    lane.alive = ~<uint64_t> 0 >> (64 - m.n_bytes)
    lane.at = lane.left = lane.right = 0
    lane.has_left = lane.has_right = False
    if tables.characters != NULL and not is_ascii(m.piece, m.n_bytes):
        for i in range(lane.n_keys):
            lane.keys[i] = NO_KEY
        lane.alive = begin_characters(tables, m.piece, m.n_bytes, m.ids, lane.keys)
        return
    for i in range(m.n_bytes):
        m.ids[i] = tables.byte_ids[m.piece[i]]
    for i in range(m.n_bytes - 1):
        lane.keys[i] = tables.byte_keys[m.piece[i] << 8 | m.piece[i + 1]] | <int32_t> i
    for i in range(m.n_bytes - 1, lane.n_keys):
        lane.keys[i] = NO_KEY


cdef inline bint _step(const Tables* tables, Lane* lane) noexcept nogil:
    """Take in what was asked for, do the best merge and ask for its pairs; False if there is none to do."""
    cdef uint32_t* ids = lane.merging.ids
    cdef int32_t best = NO_KEY, left_key, right_key
    cdef uint32_t i, at = lane.at, left = lane.left, right
    cdef uint64_t above, below
    for i in range(lane.n_keys):
        best = min(best, lane.keys[i])
    right_key = pair_key(&tables.pairs, ids[at], ids[lane.right]) | <int32_t> at
    left_key = pair_key(&tables.pairs, ids[left], ids[at]) | <int32_t> left
    right_key = right_key if lane.has_right else NO_KEY
    left_key = left_key if lane.has_left else NO_KEY
    lane.keys[at] = right_key if lane.has_right else lane.keys[at]
    lane.keys[left] = left_key if lane.has_left else lane.keys[left]
    best = min(best, min(left_key, right_key))
    if best == NO_KEY:
        _collect(tables, lane)
        return False
    if best >= tables.tied_key:
        best = leftmost(tables, lane.keys, lane.merging.n_bytes, best)
    lane.at = at = best & 63
    ids[at] = best >> 6
    right = lowest_bit(lane.alive & (~<uint64_t> 1 << at))
    lane.alive ^= <uint64_t> 1 << right
    lane.keys[at] = lane.keys[right] = NO_KEY
    above = lane.alive & (~<uint64_t> 0 << right)
    below = lane.alive & ~(~<uint64_t> 0 << at)
    lane.has_right, lane.has_left = above != 0, below != 0
    lane.right = lowest_bit(above) if above else at
    lane.left = highest_bit(below) if below else at
    lane.keys[lane.left] = NO_KEY
    prefetch(&tables.pairs.ranked[pair_home(ids[at], ids[lane.right], tables.pairs.shift)])
    prefetch(&tables.pairs.ranked[pair_home(ids[lane.left], ids[at], tables.pairs.shift)])
    return True


cdef inline void _collect(const Tables* tables, Lane* lane) noexcept nogil:
    cdef Merging* m = lane.merging
    cdef uint64_t rest = lane.alive
    cdef uint32_t n = 0, at
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
