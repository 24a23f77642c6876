"""Merge a batch of pieces that are not in the cache, for vocabularies whose priorities are ranks.

Merging one piece waits on memory: each merge looks up two new pairs, whose slots are anywhere in a table of
several megabytes, and only their ranks tell what to merge next. So the pieces of a batch take turns (software
pipelining by interleaving): a piece prefetches the slots of its two new pairs, and reads them in its next turn.
simd/merging.h does the same with AVX2 or AVX-512, and is faster; this module serves other processors and code-point
vocabularies.
"""

# Tried and dropped: merging one piece after another: slower, since each waits for slots of the pair table.
# Tried and dropped: both slots of a step in one vector, four ids collected at a time, single loads of symbols: no
#   gain.
# Tried and dropped: letting finished pieces keep taking turns, which saves a branch per piece: slower.
# Tried and dropped: a separate cache line for the pairs at the ends of pieces: slower.

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.common.bits cimport highest_bit, lowest_bit
from fastbpe._core.common.hash_lookups cimport pair_home, pair_key
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.merge.symbol_ids cimport begin_characters, is_ascii, leftmost, spell
from fastbpe._core.common.hash_tables cimport NO_KEY
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
        FB_ABREAST  # pieces that take turns

    fb_merge_fn fb_choose_merge(const char* path)

cdef fb_merge_fn _merge = fb_choose_merge(os.environ.get("FASTBPE_SIMD", "").encode())


def use_path(str path not None):
    """Choose the instruction set, as FASTBPE_SIMD does at import; "" chooses the best.

    For tests, while nothing encodes.
    """
    global _merge
    _merge = fb_choose_merge(path.encode())


cdef enum:
    VECTOR_KEYS = 8  # int32 keys of a 256-bit vector; key arrays are padded to whole vectors
    N_WIDTHS = 3  # classes of pieces: fewer than 16, 32 and 64 bytes


cdef struct Lane:
    # State of one piece that takes turns. Its symbols are piece.ids, each at the position of its first byte; see
    # merge_piece._merge_ranked() for the representation. The rank of a pair is the id that it is merged to.
    BatchPiece* piece
    uint64_t alive  # bit i: a symbol begins at position i
    uint32_t n_keys  # keys in use, padded to whole vectors
    uint32_t at  # position of the symbol that was merged last; its two new pairs were prefetched
    uint32_t left  # position of the symbol before it
    uint32_t right  # position of the symbol after it
    bint has_left  # there is a symbol before it, so `left` is valid
    bint has_right  # there is a symbol after it, so `right` is valid
    int32_t keys[MAX_PIECE_BYTES + 1]  # rank << 6 | position of the pair that begins there; NO_KEY: no such pair


cdef void merge_batch(const Tables* tables, BatchPiece** pieces, size_t n) noexcept nogil:
    """Merge n pieces; store the ids of each piece in it.

    Requires: n <= MAX_PIECES, and ranked tables (tables.byte_keys != NULL).
    """
    if _merge != NULL and tables.characters == NULL:
        _merge_by_width(tables, pieces, n)
    else:
        _merge_interleaved(tables, pieces, n)


cdef void _merge_by_width(const Tables* tables, BatchPiece** pieces, size_t n) noexcept nogil:
    """Merge with the SIMD kernel, which takes the pieces sorted by width: 16, 32 or 64 positions."""
    cdef fb_merge_tables merge_tables
    cdef fb_new_piece[N_WIDTHS][MAX_PIECES] new_pieces
    cdef fb_new_pieces[N_WIDTHS] by_width
    cdef fb_new_piece* new
    cdef size_t i, width
    merge_tables.pairs, merge_tables.shift = tables.pairs.ranked, tables.pairs.shift
    merge_tables.byte_ids, merge_tables.byte_keys = <const uint32_t*> tables.byte_ids, tables.byte_keys
    for width in range(N_WIDTHS):
        by_width[width].pieces, by_width[width].n = &new_pieces[width][0], 0
    for i in range(n):
        width = <size_t> (pieces[i].n_bytes >= 16) + <size_t> (pieces[i].n_bytes >= 32)
        new = &new_pieces[width][by_width[width].n]
        by_width[width].n += 1
        new.piece, new.n_bytes = pieces[i].text, pieces[i].n_bytes
        new.ids, new.n_ids = pieces[i].ids, &pieces[i].n_ids
    _merge(&merge_tables, by_width)


cdef void _merge_interleaved(const Tables* tables, BatchPiece** pieces, size_t n) noexcept nogil:
    """Merge up to FB_ABREAST pieces in turns; the next piece takes over the lane of a finished piece."""
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


cdef inline void _begin(const Tables* tables, Lane* lane, BatchPiece* piece) noexcept nogil:
    """Put a piece into a lane: one symbol per byte, or per character."""
    cdef uint32_t i
    lane.piece = piece
    lane.n_keys = (piece.n_bytes + VECTOR_KEYS - 1) // VECTOR_KEYS * VECTOR_KEYS
    lane.alive = ~<uint64_t> 0 >> (64 - piece.n_bytes)
    # The first step finds no prefetched pairs.
    lane.at = lane.left = lane.right = 0
    lane.has_left = lane.has_right = False
    if tables.characters != NULL and not is_ascii(piece.text, piece.n_bytes):
        for i in range(lane.n_keys):
            lane.keys[i] = NO_KEY
        lane.alive = begin_characters(tables, piece.text, piece.n_bytes, piece.ids, lane.keys)
        return
    for i in range(piece.n_bytes):
        piece.ids[i] = tables.byte_ids[piece.text[i]]
    for i in range(piece.n_bytes - 1):
        lane.keys[i] = tables.byte_keys[piece.text[i] << 8 | piece.text[i + 1]] | <int32_t> i
    for i in range(piece.n_bytes - 1, lane.n_keys):
        lane.keys[i] = NO_KEY


cdef inline bint _step(const Tables* tables, Lane* lane) noexcept nogil:
    """Read the keys of the last prefetched pairs, do the best merge, and prefetch its two new pairs.

    Returns False if no pair can be merged: then the piece is done.
    """
    cdef uint32_t* ids = lane.piece.ids
    cdef int32_t best = NO_KEY, left_key, right_key
    cdef uint32_t i, at = lane.at, left = lane.left, right
    cdef uint64_t above, below
    for i in range(lane.n_keys):  # the keys of the prefetched pairs are still NO_KEY, and count below
        best = min(best, lane.keys[i])
    # No branch, which could not be predicted: without a neighbour, `left` or `right` is `at`, and its key is dropped.
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
    if best >= tables.tied_key:  # other pairs may have the same priority
        best = leftmost(tables, lane.keys, best)
    lane.at = at = best & 63
    ids[at] = best >> 6  # the rank, which is the merged id
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
    """Move the ids of the remaining symbols to the front of piece.ids, in place, and set piece.n_ids."""
    cdef BatchPiece* piece = lane.piece
    cdef uint64_t rest = lane.alive
    cdef uint32_t n = 0, at
    while rest:
        at = lowest_bit(rest)
        rest &= rest - 1
        if tables.characters != NULL:  # writes no more ids than the symbol has bytes
            n += <uint32_t> spell(
                tables, piece.ids[at], piece.text + at, (lowest_bit(rest) if rest else piece.n_bytes) - at,
                piece.ids + n,
            )
        else:
            piece.ids[n] = piece.ids[at]
            n += 1
    piece.n_ids = n
