"""Encoding of the pieces of a text, in two phases if the vocabulary has superwords (see cache.two_phases)."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.cache.two_phases cimport encode_words, stretch_end
from fastbpe._core.common.hash_tables cimport NONE, find_merge
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.merge_short cimport MAX_SHORT, merge_in_place
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.split.splitter cimport UNMATCHED


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
    encode_words(scratch.phases, &scratch.cache, data, n, start, ends, n_ends, &scratch.word_ends, ids)
    ids_reserve(&scratch.ids, ids.n)
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if ends[k] & UNMATCHED:
            at = end
        while at < end and i < ids.n:
            first = i
            i = stretch_end(scratch.phases, ids, i, end, &at)
            _merge_stretch(tables, ids.items + first, i - first, &scratch.ids)
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
