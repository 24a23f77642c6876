"""Encode the pieces of a text, in two phases if the vocabulary has superwords (see cache.two_phases)."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.cache.two_phases cimport Phases, encode_words, may_join
from fastbpe._core.common.bits cimport lowest_bit
from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.common.hash_lookups cimport find_merge
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.merge_short cimport MAX_SHORT, merge_in_place
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.split.splitter cimport UNMATCHED, Ends
from fastbpe._core.text.safe_cuts cimport border_of

cdef enum:
    COPIED_IDS = 4  # ids that are copied together


cdef int encode_byte_pieces(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends,
    Scratch* scratch,
) except -1 nogil:
    """Append the ids of the pieces of a text.

    tables: tables of the whole vocabulary.
    data, n, start, ends, n_ends: as for encode_pieces().
    """
    cdef Ids* ids = &scratch.heads
    cdef uint64_t* joins
    if scratch.phases == NULL:
        return encode_pieces(&scratch.cache, tables, data, n, start, ends, n_ends, &scratch.ids)
    ids.n = 0
    if scratch.phases.joins_pieces:
        encode_pieces(&scratch.cache, scratch.phases.words, data, n, start, ends, n_ends, ids)
    else:
        encode_words(scratch.phases, &scratch.cache, data, n, start, ends, n_ends, &scratch.word_ends, ids)
    ids_reserve(ids, COPIED_IDS)
    ids_reserve(&scratch.ids, ids.n + COPIED_IDS)
    buffer_reset(&scratch.steps, (ids.n // 64 + 2) * sizeof(uint64_t))
    joins = <uint64_t*> scratch.steps.items
    memset(joins, 0, (ids.n // 64 + 2) * sizeof(uint64_t))
    if scratch.phases.joins_pieces:
        _join_pieces(scratch.phases, start, ends, n_ends, ids, joins)
    else:
        _join_within_pieces(scratch.phases, start, ends, n_ends, ids, joins)
    return _merge_joined(scratch.phases.superwords, ids, joins, &scratch.ids)


cdef void _join_within_pieces(
    const Phases* phases, size_t at, const size_t* ends, size_t n_ends, const Ids* ids, uint64_t* joins
) noexcept nogil:
    """Set bit i of `joins` if ids i - 1 and i may be in the same superword inside a piece.

    at: start of the first piece.
    ids: result of the first phase for the pieces.
    joins: bits, all 0 before the call.
    """
    cdef size_t k, end, i = 0
    cdef bint has_previous  # id i - 1 is in the same piece
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if ends[k] & UNMATCHED:
            at = end
        has_previous = False
        while at < end and i < ids.n:
            if has_previous:
                joins[i >> 6] |= <uint64_t> may_join(phases, ids.items[i - 1], ids.items[i]) << (i & 63)
            at += phases.n_bytes[ids.items[i]]
            i += 1
            has_previous = True


cdef void _join_pieces(
    const Phases* phases, size_t at, const size_t* ends, size_t n_ends, const Ids* ids, uint64_t* joins
) noexcept nogil:
    """Set bit i of `joins` if ids i - 1 and i are whole pieces that may be in the same superword."""
    cdef size_t k, end, i = 0
    cdef bint is_open = False  # id i - 1 is a piece that the next one may continue
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if ends[k] & UNMATCHED:
            is_open = False
        elif i < ids.n and phases.n_bytes[ids.items[i]] == end - at:
            if is_open:
                joins[i >> 6] |= <uint64_t> may_join(phases, ids.items[i - 1], ids.items[i]) << (i & 63)
            i += 1
            is_open = True
        else:
            while at < end and i < ids.n:
                at += phases.n_bytes[ids.items[i]]
                i += 1
            is_open = False
        at = end


cdef int _merge_joined(const Tables* tables, const Ids* ids, const uint64_t* joins, Ids* out) except -1 nogil:
    """Append the ids, merging each stretch marked in `joins`.

    Requires: space for ids.n + COPIED_IDS ids after out.n, and for COPIED_IDS after ids.n.
    """
    cdef const uint32_t* items = ids.items
    cdef uint32_t* to = out.items + out.n
    cdef size_t i = 0, first, end
    cdef uint32_t merged
    while i < ids.n:
        end = _next_bit(joins, i, ids.n, 0)
        first = end - 1 if end < ids.n else end  # start of the next stretch
        while True:  # usually one round
            memcpy(to, items + i, COPIED_IDS * sizeof(uint32_t))
            to += COPIED_IDS
            i += COPIED_IDS
            if i >= first:
                break
        to -= i - first
        if first == ids.n:
            break
        i = _next_bit(joins, end, ids.n, ~<uint64_t> 0)
        if i - first == 2:
            merged = find_merge(&tables.pairs, items[first], items[first + 1]).id
            to[0] = items[first] if merged == NONE else merged
            to[1] = items[first + 1]
            to += 1 + (merged == NONE)
        elif i - first <= MAX_SHORT:
            memcpy(to, items + first, (i - first) * sizeof(uint32_t))
            to += merge_in_place(tables, i - first, NONE, to, NULL)
        else:
            out.n = to - out.items
            merge_symbols(tables, items + first, i - first, out, NULL)
            ids_reserve(out, ids.n - i + COPIED_IDS)
            to = out.items + out.n
    out.n = to - out.items
    return 0


cdef inline size_t _next_bit(const uint64_t* bits, size_t i, size_t n, uint64_t flips) noexcept nogil:
    """Find the first set bit from i on, at most n; if flips is all ones, the first bit that is not set."""
    cdef size_t word = i >> 6
    cdef uint64_t found = (bits[word] ^ flips) >> (i & 63)
    if found:
        return min(i + lowest_bit(found), n)
    while True:
        word += 1
        if word << 6 >= n:
            return n
        if bits[word] ^ flips:
            return min((word << 6) + lowest_bit(bits[word] ^ flips), n)


cdef size_t n_complete(const Phases* phases, const uint8_t* data, const Ends* ends, size_t first) noexcept nogil:
    """Count the pieces of a text up to the last border that no superword crosses; 0 without such a border.

    first: borders before this piece are known to be crossed.

    Requires: the second phase joins whole pieces, and there is text after the last piece.
    """
    cdef size_t k = ends.n, end
    while k > first:
        end = ends.items[k - 1] & ~UNMATCHED
        if ends.items[k - 1] & UNMATCHED or not phases.borders[border_of(data[end - 1], data[end])]:
            return k
        k -= 1
    return 0
