"""Encode short texts to lists of ids: Pipeline.encode() with less overhead, for the most common call.

Such a call mostly waits for cache lines of the piece cache, so it prefetches them as early as possible. While they
arrive, it searches for disallowed tokens and allocates the list.
"""

# Tried and dropped: this path for str objects that are not ASCII, transcoded first: no gain.

from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from fastbpe._core.cache.cache_state cimport GROUP
from fastbpe._core.cache.piece_cache cimport probe_group, look_up_group
from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.common.python cimport PyUnicode_DATA
from fastbpe._core.encode.scratch_pool cimport Scratch, offer_gil
from fastbpe._core.ids.id_lists cimport add_ids, ids_list, new_list
from fastbpe._core.split.splitter cimport ends_start_text
from fastbpe._core.text.special_tokens cimport Match

from fastbpe.errors import PatternError

cdef enum:
    KEY_BYTES = 16  # bytes from a piece's start that are read to make its key
    SPARE_ITEMS = 4  # list items in addition to one per piece: enough for nearly all short texts


cdef list short_list(Pipeline pipeline, object text, SpecialMatcher disallowed):
    """Return the list of a text's ids; None: Pipeline.encode() must encode the text, and raise any error.

    Raises the splitter's PatternError itself, unless the text has a disallowed token.

    disallowed: as in Pipeline.encode(). No special tokens are allowed.

    Requires: is_short().
    """
    cdef Scratch* scratch = pipeline.pool.take()
    try:
        return short_list_by(scratch, pipeline, text, disallowed)
    finally:
        pipeline.pool.give(scratch)


cdef list short_list_by(Scratch* scratch, Pipeline pipeline, object text, SpecialMatcher disallowed):
    """Do the work of short_list() with the caller's scratch, whose ids are overwritten."""
    cdef const uint8_t* data = <const uint8_t*> PyUnicode_DATA(text)
    cdef const uint8_t* split = data  # the text to split, which may have a space inserted before it
    cdef size_t n = <size_t> PyUnicode_GET_LENGTH(text), n_split = n, capacity
    cdef uint8_t* copy
    cdef Match match
    cdef list out
    offer_gil(scratch, n)
    # Keys are made from a copy with KEY_BYTES readable bytes after it, so the end of the text needs no check.
    buffer_reset(&scratch.prefixed, 1 + SHORT_UNITS + KEY_BYTES)
    copy = scratch.prefixed.items
    memcpy(copy + 1, data, n)
    if n and pipeline.normalizing is not None and pipeline.normalizing.dummy_prefix:
        copy[0] = 0x20
        split, n_split = copy, n + 1
    else:
        copy += 1
    scratch.ids.n = scratch.ends.n = 0
    ends_start_text(&scratch.ends, split)
    try:
        if n and pipeline.splitter.split(split, n_split, 0, &scratch.ends) < n_split:
            return None
        if not 0 < scratch.ends.n <= GROUP:
            return None
    except PatternError:
        if disallowed is not None and disallowed.find(data, n, 0, &match):
            return None  # if the text also has a disallowed token, that is the error to report, as for longer texts
        raise
    probe_group(&scratch.cache, copy, n_split + KEY_BYTES, 0, scratch.ends.items, scratch.ends.n)
    if disallowed is not None and disallowed.find(data, n, 0, &match):
        return None
    capacity = scratch.ends.n + SPARE_ITEMS
    if pipeline.normalizing is not None:
        capacity += scratch.ends.n // 2  # words of sentencepiece have several ids more often
    out = new_list(capacity)
    look_up_group(
        &scratch.cache, &pipeline.vocabulary.tables, copy, 0, scratch.ends.items, scratch.ends.n, &scratch.ids
    )
    if scratch.ids.n > capacity:
        return ids_list(scratch.ids.items, scratch.ids.n)
    add_ids(out, scratch.ids.items, scratch.ids.n)
    return out
