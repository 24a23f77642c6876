"""Encode one text, with or without the GIL, on one thread or several.

A short ASCII text goes through short_texts. Other texts below NOGIL_UNITS are encoded under the GIL, longer
ones without it. A str or bytes object of at least THREADS_FROM_UNITS is divided into the jobs of
`parallel_encoding`, if the text may be cut and there are several threads.
"""

from fastbpe._core.common.id_buffer cimport ids_expect
from fastbpe._core.common.python cimport PyObject
from fastbpe._core.encode.parallel_encoding cimport Jobs
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch, offer_gil
from fastbpe._core.encode.short_texts cimport is_short, short_list
from fastbpe._core.ids.id_lists cimport append_ids, expect_items, fit_list, hide, ids_list, new_list, show
from fastbpe._core.ids.int_table cimport ints_so_far
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release

from fastbpe._utils.threads import usable_threads

cdef enum:
    NOGIL_UNITS = 1 << 13  # shortest text, in units, for which releasing the GIL pays
    UNITS_PER_LIST_ITEM = 3  # estimate for lists: nearly every text has fewer ids
    UNITS_PER_ID = 4  # estimate for buffers of ids, which are cheaper to enlarge


cdef list list_of_text(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads
):
    """Encode a text; return the list of its ids.

    text: str, or bytes-like UTF-8.
    allowed, disallowed: as in Pipeline.encode().
    num_threads: int or None, as in Encoder.encode().
    """
    cdef Scratch* scratch
    cdef int n_threads
    cdef Jobs jobs
    cdef list lists, out = None
    if allowed is None and num_threads is None and is_short(pipeline, text):  # any num_threads is checked below
        out = short_list(pipeline, text, disallowed)
        if out is not None:
            return out
    if may_use_threads(text, num_threads):
        n_threads = n_threads_of(pipeline, len(text), num_threads)
        if n_threads > 1 and pipeline.may_cut(allowed, disallowed):
            jobs = Jobs(pipeline, [text], allowed, disallowed, counting=False)
            if jobs.n_jobs > 1:
                lists = []
                jobs.add_lists(n_threads, lists)
                return show(lists[0])
    scratch = pipeline.pool.take()
    try:
        # Ids can be moved to a list without the GIL only if most of their ints exist: see int_table.
        if ints_so_far().n_row and isinstance(text, (str, bytes)) and len(text) >= NOGIL_UNITS:
            out = new_list(0)
            hide(out)
            scratch.out = <PyObject*> out
        append_text(pipeline, text, allowed, disallowed, scratch)
        if out is None:
            return ids_list(scratch.ids.items, scratch.ids.n)
        append_ids(out, scratch.ids.items, scratch.ids.n)
        fit_list(out)
        return show(out)
    finally:
        pipeline.pool.give(scratch)


cdef int append_text(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch
) except -1:
    """Append the ids of a text to scratch.ids, or move them to scratch.out, on this thread."""
    cdef Text view
    text_of(text, &view)
    try:
        if view.n < NOGIL_UNITS:
            offer_gil(scratch, view.n)
            pipeline.encode(&view, 0, view.n, allowed, disallowed, scratch)
        else:
            scratch.n_held = 0
            if scratch.out != NULL:
                expect_items(<list> scratch.out, view.n // UNITS_PER_LIST_ITEM)
            else:
                ids_expect(&scratch.ids, view.n // UNITS_PER_ID)
            with nogil:
                pipeline.encode(&view, 0, view.n, allowed, disallowed, scratch)
    finally:
        text_release(&view)
    return 0


cdef size_t count_text(Pipeline pipeline, object text, Scratch* scratch) except? <size_t> -1:
    """Count the ids of a text, with special tokens as plain text, on this thread.

    Requires: scratch.ids is empty.
    """
    cdef Text view
    cdef size_t count
    text_of(text, &view)
    try:
        if view.n < NOGIL_UNITS:
            offer_gil(scratch, view.n)
            count = pipeline.count(&view, 0, view.n, None, None, scratch)
        else:
            scratch.n_held = 0
            with nogil:
                count = pipeline.count(&view, 0, view.n, None, None, scratch)
    finally:
        text_release(&view)
    return count


cdef bint may_use_threads(object text, object num_threads) except -1:
    """Check num_threads, and tell whether a text is a str or bytes, and long enough for threads to be faster."""
    check_threads(num_threads)
    return isinstance(text, (str, bytes)) and len(text) >= THREADS_FROM_UNITS


cdef int check_threads(object num_threads) except -1:
    """Raise for an invalid num_threads, even if there is too little text for several threads."""
    if num_threads is not None:  # None: all cores, which a short text need not count
        usable_threads(num_threads)
    return 0


cdef int n_threads_of(Pipeline pipeline, size_t n_units, object num_threads) except -1:
    """Return the number of threads for a text or batch of n_units units: 1 if the splitter needs the GIL."""
    return 1 if n_units < THREADS_FROM_UNITS or pipeline.splitter.holds_gil else usable_threads(num_threads)
