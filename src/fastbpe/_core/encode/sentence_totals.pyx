"""Encode pieces whose best path may depend on the pieces before them, as in sentencepiece's unigram models.

For each piece, the cache stores the path that is best without rounding, and its margin (see merge.segmented).
The total continues from piece to piece: the scores of cached paths are added one by one, in sentencepiece's order.
Long pieces, which are not cached, and pieces whose margin is too small at the total before them are searched,
starting from this total.
"""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.superwords cimport encode_byte_pieces
from fastbpe._core.merge.segmented cimport MAX_MARGIN_BYTES, add_path, is_sure, n_ids_of
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.segment.best_path cimport Step, search_sentence
from fastbpe._core.segment.segmenter cimport SENTENCE, Segmenting
from fastbpe._core.split.splitter cimport UNMATCHED


cdef int encode_all_pieces(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, Scratch* scratch
) except -1 nogil:
    """Append the ids of the pieces of data[start:], for any kind of vocabulary.

    Requires: scratch.ends has the pieces; with SENTENCE, no text is unmatched, and scratch.total is the total before
        the pieces.
    """
    if tables.segmenting != NULL and tables.segmenting.kind == SENTENCE:
        return _encode_sentence_pieces(tables, data, n, start, scratch)
    return encode_byte_pieces(tables, data, n, start, scratch.ends.items, scratch.ends.n, scratch)


cdef int _encode_sentence_pieces(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, Scratch* scratch
) except -1 nogil:
    cdef const Segmenting* segmenting = tables.segmenting
    cdef const float* gains = segmenting.gains
    cdef size_t* ends = scratch.ends.items
    cdef size_t n_ends = scratch.ends.n, k, at = start, end, n_ids, i
    cdef float total = scratch.total
    cdef Ids* ids = &scratch.ids
    cdef const uint32_t* item
    for k in range(n_ends):  # a piece without an entry in the cache is skipped, like unmatched text
        end = ends[k]
        if end - at > MAX_MARGIN_BYTES:
            ends[k] |= UNMATCHED
        at = end
    scratch.heads.n = 0
    encode_pieces(&scratch.cache, tables, data, n, start, ends, n_ends, &scratch.heads)
    ids_reserve(ids, at - start)  # at most one per byte
    item = scratch.heads.items
    at = start
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if ends[k] & UNMATCHED:
            total = _search(tables, data + at, end - at, total, scratch)
        else:
            n_ids = n_ids_of(item[0])
            if is_sure(item[0], total, segmenting.greatest, end - at):
                for i in range(1, n_ids + 1):
                    ids.items[ids.n] = item[i]
                    ids.n += 1
                    total = gains[item[i]] + total
            else:
                total = _search(tables, data + at, end - at, total, scratch)
            item += n_ids + 1
        at = end
    scratch.total = total
    return 0


cdef float _search(
    const Tables* tables, const uint8_t* text, size_t n, float total, Scratch* scratch
) except? -1 nogil:
    """Append the ids of a piece, and return the total after it."""
    cdef Step* steps
    buffer_reset(&scratch.steps, (n + 1) * sizeof(Step))
    steps = <Step*> scratch.steps.items
    total = search_sentence(tables.segmenting, text, n, total, steps)
    add_path(tables, text, n, steps, &scratch.ids)
    return total
