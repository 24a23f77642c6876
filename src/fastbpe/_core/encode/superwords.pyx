"""Encoding of the pieces of a text, in two phases if the vocabulary has superwords (see cache.two_phases)."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.cache.two_phases cimport Phases, encode_words, may_join, stretch_end
from fastbpe._core.common.hash_tables cimport NONE, find_merge
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.merge_short cimport MAX_SHORT, merge_in_place
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.split.splitter cimport UNMATCHED, Ends
from fastbpe._core.text.safe_cuts cimport border_of


cdef int encode_byte_pieces(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends,
    Scratch* scratch,
) except -1 nogil:
    """Append the ids of the pieces of a text.

    tables: of the whole vocabulary.
    data, n, start, ends, n_ends: as for encode_pieces().
    """
    cdef Ids* ids = &scratch.heads
    cdef size_t i = 0, k, end, first, at = start
    if scratch.phases == NULL:
        return encode_pieces(&scratch.cache, tables, data, n, start, ends, n_ends, &scratch.ids)
    if scratch.phases.joins_pieces:
        ids.n = 0
        encode_pieces(&scratch.cache, scratch.phases.words, data, n, start, ends, n_ends, ids)
        return _merge_runs(scratch.phases, start, ends, n_ends, ids, &scratch.ids)
    encode_words(scratch.phases, &scratch.cache, data, n, start, ends, n_ends, &scratch.word_ends, ids)
    ids_reserve(&scratch.ids, ids.n)
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if ends[k] & UNMATCHED:
            at = end
        while at < end and i < ids.n:
            first = i
            i = stretch_end(scratch.phases, ids, i, end, &at)
            _merge_stretch(scratch.phases.superwords, ids.items + first, i - first, &scratch.ids)
    return 0


cdef int _merge_runs(
    const Phases* phases, size_t at, const size_t* ends, size_t n_ends, const Ids* ids, Ids* out
) except -1 nogil:
    """Append the ids that the second phase makes of pieces, where it joins whole pieces.

    at: where the first piece begins.
    ids: what the first phase makes of the pieces.
    """
    cdef size_t k, end, first = 0, i = 0
    cdef bint is_open = False  # ids `first` to i - 1 are a run that the next piece may go on with
    ids_reserve(out, ids.n)
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if at == end:
            continue
        if ends[k] & UNMATCHED:
            is_open = False
        elif i < ids.n and phases.n_bytes[ids.items[i]] == end - at:
            if not is_open or not may_join(phases, ids.items[i - 1], ids.items[i]):
                _merge_run(phases, ids, first, i, out)
                first = i
            i += 1
            is_open = True
        else:
            _merge_run(phases, ids, first, i, out)
            while at < end and i < ids.n:
                at += phases.n_bytes[ids.items[i]]
                out.items[out.n] = ids.items[i]
                out.n += 1
                i += 1
            first = i
            is_open = False
        at = end
    return _merge_run(phases, ids, first, i, out)


cdef inline int _merge_run(const Phases* phases, const Ids* ids, size_t first, size_t end, Ids* out) except -1 nogil:
    return 0 if first == end else _merge_stretch(phases.superwords, ids.items + first, end - first, out)


cdef size_t n_complete(const Phases* phases, const uint8_t* data, const Ends* ends, size_t first) noexcept nogil:
    """Count the pieces of a text up to the last border that no superword crosses, 0 without such a border.

    first: borders after earlier pieces are known to be crossed.

    Requires: the second phase joins whole pieces, and text follows the last of them.
    """
    cdef size_t k = ends.n, end
    while k > first:
        end = ends.items[k - 1] & ~UNMATCHED
        if ends.items[k - 1] & UNMATCHED or not phases.borders[border_of(data[end - 1], data[end])]:
            return k
        k -= 1
    return 0


cdef inline int _merge_stretch(const Tables* tables, const uint32_t* ids, size_t n, Ids* out) except -1 nogil:
    """Append the ids that the second phase makes of a stretch.

    Requires: n > 0; there is space for n ids.
    """
    cdef uint32_t* to = out.items + out.n
    cdef uint32_t merged
    to[0] = ids[0]
    if n == 1:
        out.n += 1
    elif n == 2:
        merged = find_merge(&tables.pairs, ids[0], ids[1]).id
        if merged != NONE:
            to[0] = merged
        to[1] = ids[1]
        out.n += 1 + (merged == NONE)
    elif n <= MAX_SHORT:
        memcpy(to, ids, n * sizeof(uint32_t))
        out.n += merge_in_place(tables, n, NONE, to, NULL)
    else:
        return merge_symbols(tables, ids, n, out, NULL)
    return 0
