"""Encode texts with the span of each id: to lists or to arrays.

A single text is a batch of one. The calling thread does all the work.
"""

from libc.stdint cimport int64_t

from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.encode.offsets cimport append_text_spans
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.spans cimport Spans, spans_array, spans_free, spans_list, take_spare_spans
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.ids.id_lists cimport (
    Array, PyObject_GC_Track, hide, ids_array, ids_list, int64_array, show, take_spare,
)
from fastbpe._core.text.special_tokens cimport SpecialMatcher

from fastbpe.errors import note_place


cdef list lists_with_spans(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, SpanTrimmer trimmer, int unit
):
    """Encode texts; return (list of ids, list of spans) for each.

    allowed, disallowed: as in Pipeline.encode().
    trimmer, unit: as in append_text_spans().
    """
    cdef list out = [], ids, spans_of_ids
    cdef tuple ids_and_spans
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef Scratch* scratch
    cdef size_t i
    _check(texts)
    scratch = pipeline.pool.take()
    hide(out)  # until the end, or the garbage collector would traverse the growing list again and again
    try:
        for text in texts:
            PyErr_CheckSignals()
            scratch.ids.n = spans.n = 0
            _append(pipeline, text, allowed, disallowed, scratch, &spans, trimmer, unit, texts, len(out))
            ids, spans_of_ids = ids_list(scratch.ids.items, scratch.ids.n), spans_list(&spans)
            ids_and_spans = ids, spans_of_ids
            hide(ids)
            hide(spans_of_ids)
            hide(ids_and_spans)
            out.append(ids_and_spans)
        for i, ids_and_spans in enumerate(out):
            yield_gil_at(i)
            show(ids_and_spans[0])
            show(ids_and_spans[1])
            PyObject_GC_Track(ids_and_spans)
        return show(out)
    finally:
        spans_free(&spans)
        pipeline.pool.give(scratch)


cdef tuple arrays_with_spans(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, SpanTrimmer trimmer, int unit
):
    """Encode texts; return the arrays (ids, spans, offsets).

    ids: uint32, the ids of all texts, end to end.
    spans: int64, start and end of each id.
    offsets: int64: text i has ids[offsets[i]:offsets[i + 1]].
    """
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef Ids ids = Ids(NULL, 0, 0), own
    cdef size_t n_units, i = 0
    cdef Array offsets
    cdef Scratch* scratch
    _check(texts)
    texts = texts if type(texts) is tuple else list(texts)
    n_units = _n_units_of(texts)
    offsets = int64_array(<size_t> len(texts) + 1)
    take_spare(&ids, n_units)
    take_spare_spans(&spans, n_units)
    scratch = pipeline.pool.take()
    own, scratch.ids = scratch.ids, ids  # write the ids to their final place, without a copy
    try:
        for i, text in enumerate(texts):
            PyErr_CheckSignals()
            _append(pipeline, text, allowed, disallowed, scratch, &spans, trimmer, unit, texts, i)
            (<int64_t*> offsets._items)[i + 1] = scratch.ids.n
        return ids_array(&scratch.ids, n_units), spans_array(&spans, n_units), offsets
    finally:
        spans_free(&spans)
        ids_free(&scratch.ids)
        scratch.ids = own
        pipeline.pool.give(scratch)


cdef size_t _n_units_of(object texts) except? 0:
    """Sum up the lengths of texts; an item that is neither str nor bytes counts as 0."""
    cdef size_t n_units = 0
    for text in texts:
        if isinstance(text, (str, bytes)):
            n_units += <size_t> len(text)
    return n_units


cdef int _check(object texts) except -1:
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a list of texts, not one text: pass [text]")
    return 0


cdef int _append(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch,
    Spans* spans, SpanTrimmer trimmer, int unit, object texts, size_t index
) except -1:
    """Append ids and spans of a text. An error gets a note with `index`, unless texts is a tuple: of one text."""
    try:
        append_text_spans(pipeline, text, allowed, disallowed, scratch, spans, trimmer, unit)
    except (TypeError, ValueError) as error:
        if type(texts) is not tuple:
            note_place(error, f"texts[{index}]")
        raise
    return 0
