"""Encode many texts, one batch at a time: to lists, to one array, or to counts.

A small batch is encoded on the calling thread; a larger one is divided into the jobs of `parallel_encoding`.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.encode.one_text cimport append_text, check_threads, count_text, n_threads_of
from fastbpe._core.encode.parallel_encoding cimport UNITS_PER_ARRAY_ID, Jobs
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.short_texts cimport is_short, short_list_by
from fastbpe._core.ids.id_lists cimport Array, hide, ids_array, ids_list, int64_array, show_all, take_spare
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.text_batches cimport TextBatches
from fastbpe._core.text.utf8_text cimport prefetch_after

from fastbpe.errors import note_place


# Lists

cdef list lists_of_texts(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads,
    tuple before=(), tuple behind=()
):
    """Encode texts; return a list of lists of ids, in order.

    texts: an iterable of str, or of bytes-like UTF-8.
    allowed, disallowed: as in Pipeline.encode().
    num_threads: int or None, as in Encoder.encode_batch().
    before, behind: ids of the template before and after each text.
    """
    cdef list out = [], batch
    cdef int n_threads
    cdef TextBatches batches = TextBatches(texts)
    check_threads(num_threads)
    # Hidden until the end: otherwise the garbage collector would traverse the growing list again and again.
    hide(out)
    while batch := batches.next():
        n_threads = n_threads_of(pipeline, batches.n_units, num_threads)
        try:
            if n_threads > 1:
                Jobs(pipeline, batch, allowed, disallowed, counting=False).add_lists(n_threads, out, before, behind)
            else:
                _append_lists(pipeline, batch, allowed, disallowed, out, before, behind)
        except ValueError as error:
            _note_text(pipeline, batches, allowed, disallowed, error)
            raise
    show_all(out)
    return out


cdef int _append_lists(
    Pipeline pipeline, list batch, SpecialMatcher allowed, SpecialMatcher disallowed, list out, tuple before,
    tuple behind
) except -1:
    """Append a list of ids for each text, hidden from the garbage collector. Uses only this thread."""
    cdef Scratch* scratch = pipeline.pool.take()
    cdef size_t i = 0
    cdef list ids
    try:
        for text in batch:
            PyErr_CheckSignals()
            prefetch_after(batch, i)
            i += 1
            if allowed is None and is_short(pipeline, text):
                ids = short_list_by(scratch, pipeline, text, disallowed)
                if ids is not None:
                    if before or behind:
                        ids = [*before, *ids, *behind]
                    hide(ids)
                    out.append(ids)
                    continue
            scratch.ids.n = 0
            append_text(pipeline, text, allowed, disallowed, scratch)
            ids = ids_list(scratch.ids.items, scratch.ids.n, before, behind)
            hide(ids)
            out.append(ids)
    finally:
        pipeline.pool.give(scratch)
    return 0


# One array

cdef tuple array_of_texts(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads
):
    """Encode texts; return (ids, offsets).

    ids: uint32 array of the ids of all texts, end to end.
    offsets: int64 array: text i has ids[offsets[i]:offsets[i + 1]].
    """
    cdef list batch, counts_of_batches = []
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef size_t n_units = 0  # units of the texts so far
    cdef size_t n_spare_units = 0  # units of text for which the reused buffer of ids is large enough
    cdef Array counts
    cdef TextBatches batches = TextBatches(texts)
    check_threads(num_threads)
    try:
        while batch := batches.next():
            counts = int64_array(len(batch))
            counts_of_batches.append(counts)
            n_units += batches.n_units
            if len(counts_of_batches) == 1:
                n_spare_units = take_spare(&ids, n_units)
            try:
                _append_batch(
                    pipeline, batch, batches.n_units, allowed, disallowed, &ids, n_units <= n_spare_units, counts,
                    num_threads,
                )
            except ValueError as error:
                _note_text(pipeline, batches, allowed, disallowed, error)
                raise
        return ids_array(&ids, n_units), _offsets(counts_of_batches)
    finally:
        ids_free(&ids)


cdef int _append_batch(
    Pipeline pipeline, list batch, size_t n_units, SpecialMatcher allowed, SpecialMatcher disallowed, Ids* ids,
    bint has_capacity, Array counts, object num_threads
) except -1:
    """Append the ids of a batch to ids, and store the count of each text.

    n_units: units of the whole batch.
    has_capacity: ids has enough memory, and its pages have been touched.
    """
    cdef int64_t* n_ids = <int64_t*> counts._items
    cdef int n_threads = n_threads_of(pipeline, n_units, num_threads)
    cdef Scratch* scratch
    cdef Ids own
    cdef Jobs jobs
    cdef size_t before, i = 0
    if n_threads > 1:
        jobs = Jobs(pipeline, batch, allowed, disallowed, counting=False)
        jobs.run_into(ids, has_capacity, n_threads)
        jobs.add_counts(n_ids)
        return 0
    if not has_capacity:
        ids_expect(ids, n_units // UNITS_PER_ARRAY_ID)
    scratch = pipeline.pool.take()
    own, scratch.ids = scratch.ids, ids[0]  # write the ids where they will stay, without a copy
    try:
        for text in batch:
            PyErr_CheckSignals()
            prefetch_after(batch, i)
            before = scratch.ids.n
            append_text(pipeline, text, allowed, disallowed, scratch)
            n_ids[i] = scratch.ids.n - before
            i += 1
    finally:
        ids[0], scratch.ids = scratch.ids, own
        pipeline.pool.give(scratch)
    return 0


# Counts

cdef Array counts_of_texts(Pipeline pipeline, object texts, object num_threads):
    """Count the ids of texts, with special tokens as plain text; return an int64 array."""
    cdef list batch, counts_of_batches = []
    cdef Array counts
    cdef TextBatches batches = TextBatches(texts)
    check_threads(num_threads)
    while batch := batches.next():
        counts = int64_array(len(batch))
        counts_of_batches.append(counts)
        try:
            _count_batch(pipeline, batch, batches.n_units, <int64_t*> counts._items, num_threads)
        except ValueError as error:
            _note_text(pipeline, batches, None, None, error)
            raise
    return _joined(counts_of_batches)


cdef int _count_batch(Pipeline pipeline, list batch, size_t n_units, int64_t* n_ids, object num_threads) except -1:
    """Store the count of each text of a batch. n_units: units of the whole batch."""
    cdef Scratch* scratch
    cdef Jobs jobs
    cdef size_t i = 0
    cdef int n_threads = n_threads_of(pipeline, n_units, num_threads)
    if n_threads > 1:
        jobs = Jobs(pipeline, batch, None, None, counting=True)
        jobs.run(n_threads)
        jobs.add_counts(n_ids)
        return 0
    scratch = pipeline.pool.take()
    try:
        for text in batch:
            PyErr_CheckSignals()
            prefetch_after(batch, i)
            n_ids[i] = count_text(pipeline, text, scratch)
            i += 1
    finally:
        pipeline.pool.give(scratch)
    return 0


# Helpers

cdef int _note_text(
    Pipeline pipeline, TextBatches batches, SpecialMatcher allowed, SpecialMatcher disallowed, object error
) except -1:
    """Add a note to the error of a batch: the index of the first text that raises an error if encoded alone.

    The only text of a call gets no note.
    """
    cdef Py_ssize_t i
    if batches.is_one:
        return 0
    cdef Scratch* scratch = pipeline.pool.take()
    try:
        for i in range(len(batches.texts)):
            scratch.ids.n = 0
            try:
                append_text(pipeline, batches.texts[i], allowed, disallowed, scratch)
            except ValueError:
                note_place(error, f"texts[{batches.first + i}]")
                return 0
    finally:
        pipeline.pool.give(scratch)
    return 0


cdef Array _joined(list parts):
    """Concatenate int64 arrays."""
    cdef Array out, part
    cdef size_t at = 0
    if len(parts) == 1:
        return parts[0]
    out = int64_array(sum(map(len, parts)))
    for part in parts:
        memcpy(<int64_t*> out._items + at, part._items, part._n * sizeof(int64_t))
        at += part._n
    return out


cdef Array _offsets(list counts):
    """Sum up counts, given as int64 arrays: return the start of each, and the end of the last."""
    cdef Array joined = _joined(counts)
    cdef Array out = int64_array(joined._n + 1)
    cdef int64_t* offsets = <int64_t*> out._items
    cdef Py_ssize_t i
    for i in range(joined._n):
        offsets[i + 1] = offsets[i] + (<int64_t*> joined._items)[i]
    return out
