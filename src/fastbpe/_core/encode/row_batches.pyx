"""Encoding of texts that lie end to end in one buffer, as Arrow has them: no object is made for a text."""

from libc.stdint cimport int64_t

from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.encode.one_text cimport THREADS_FROM_UNITS, n_threads_of
from fastbpe._core.encode.parallel cimport Jobs
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.ids.id_lists cimport Array, ids_array, int64_array
from fastbpe._core.text.text_rows cimport TextRows
from fastbpe._core.text.special_tokens cimport SpecialMatcher

from fastbpe._utils.threads import usable_threads

cdef enum:
    BATCH_ROWS = 1 << 16  # rows whose views are made at once


def encode_rows(Encoder encoder not None, TextRows rows not None, allowed_special, disallowed_special, num_threads):
    """Encode rows; return (uint32 ids of all end to end, int64 offsets into them: one more than rows).

    allowed_special, disallowed_special, num_threads: as in `Tokenizer.encode_batch`.
    """
    cdef Pipeline pipeline = encoder._ready()
    cdef SpecialMatcher allowed, disallowed
    cdef size_t n = <size_t> len(rows), first, last, i
    cdef Array offsets = int64_array(n + 1)
    cdef int64_t* ends = <int64_t*> offsets._items
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef Jobs jobs
    cdef int n_threads = 1 if num_threads is None else usable_threads(num_threads)
    allowed, disallowed = encoder._matchers(allowed_special, disallowed_special)
    try:
        for first in range(0, n, BATCH_ROWS):
            last = min(first + BATCH_ROWS, n)
            jobs = Jobs(pipeline, [], allowed, disallowed, False, rows=rows, first_row=first, last_row=last)
            if jobs.max_ids >= THREADS_FROM_UNITS and (num_threads is None or n_threads > 1):
                jobs.run_into(&ids, False, n_threads_of(pipeline, num_threads))
            else:
                jobs.run_alone(&ids, False)
            jobs.add_counts(ends + 1 + first)
        for i in range(n):
            ends[i + 1] += ends[i]
        return ids_array(&ids), offsets
    finally:
        ids_free(&ids)
