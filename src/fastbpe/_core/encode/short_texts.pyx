"""Short texts → lists: what Pipeline.encode does, for the commonest of all calls, with less around it.

Of a call with 100 bytes a third is waiting for lines of the piece cache. So they are asked for as early as may be, and
what does not depend on them is done meanwhile.
"""

from cpython.unicode cimport PyUnicode_DATA
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.cache.cache_state cimport GROUP
from fastbpe._core.cache.piece_cache cimport look_up_group, probe_group
from fastbpe._core.ids.id_lists cimport add_ids, ids_list, new_list
from fastbpe._core.encode.pipeline cimport Scratch
from fastbpe._core.text.special_tokens cimport Match

from fastbpe.errors import PatternError

cdef enum:
    KEY_BYTES = 16
    MORE_IDS = 4  # than pieces, at most, in nearly all short texts


cdef list short_list(Pipeline pipeline, object text, SpecialMatcher disallowed):
    """The ids of a text that is_short; None: it is for Pipeline.encode, which also says what is wrong with it."""
    cdef Scratch* scratch = pipeline.take()
    try:
        return short_list_by(scratch, pipeline, text, disallowed)
    finally:
        pipeline.give(scratch)


cdef list short_list_by(Scratch* scratch, Pipeline pipeline, object text, SpecialMatcher disallowed):
    """The same by a scratch that was taken."""
    cdef const uint8_t* data = <const uint8_t*> PyUnicode_DATA(text)
    cdef const uint8_t* split = data  # what is split: the text, perhaps with a space before it
    cdef size_t n = <size_t> PyUnicode_GET_LENGTH(text), n_split = n, room
    cdef uint8_t* copy
    cdef Match match
    cdef list out
    pipeline.hold_gil(scratch, n)
    # Keys are made of a copy, 16 bytes behind which may be read: for the last ones of the text itself it takes longer.
    buffer_reset(&scratch.prefixed, 1 + SHORT_UNITS + KEY_BYTES)
    copy = scratch.prefixed.items
    memcpy(copy + 1, data, n)
    if n and pipeline.normalizing is not None and pipeline.normalizing.dummy_prefix:
        copy[0] = 0x20
        split, n_split = copy, n + 1
    else:
        copy += 1
    scratch.ids.n = scratch.ends.n = 0
    scratch.ends.text = split
    try:
        if n and pipeline.splitter.split(split, n_split, 0, &scratch.ends) < n_split or not 0 < scratch.ends.n <= GROUP:
            return None
    except PatternError:
        if disallowed is not None and disallowed.find(data, n, 0, &match):
            return None  # which is said first, of any text
        raise
    probe_group(&scratch.cache, copy, n_split + KEY_BYTES, 0, scratch.ends.items, scratch.ends.n)
    if disallowed is not None and disallowed.find(data, n, 0, &match):
        return None
    # The list is made while the lines are on their way, with room for a few ids more than pieces: 505 ns a call for 545.
    room = scratch.ends.n + MORE_IDS
    if pipeline.normalizing is not None:
        room += scratch.ends.n // 2  # words are several ids more often
    out = new_list(room)
    look_up_group(
        &scratch.cache, &pipeline.vocabulary.tables, copy, 0, scratch.ends.items, scratch.ends.n, &scratch.ids
    )
    if scratch.ids.n > room:
        return ids_list(scratch.ids.items, scratch.ids.n)
    add_ids(out, scratch.ids.items, scratch.ids.n)
    return out
