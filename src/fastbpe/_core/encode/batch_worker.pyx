"""Encoding for threads of the caller, who has checked the text: without the GIL, however short the texts are.

Special tokens are just text; added tokens that are found in any text are found here, too.
"""

from libc.stdint cimport int64_t

from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.encode.parallel cimport Jobs
from fastbpe._core.text.json_lines cimport Bytes, JsonLines, Line
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free
from fastbpe._core.ids.id_lists cimport Array, ids_array, int64_array, take_spare
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.text.json_lines import n_newlines
from fastbpe._core.text.utf8_text cimport Text

cdef enum:
    UNITS_PER_ID = 3  # estimate: a little more than English takes, less than some languages


def encode_texts(Encoder encoder not None, texts, int num_threads):
    """Encode texts; return (uint32 ids of all end to end, int64 offsets into them: one more than texts).

    texts: an iterable of str, or of bytes that are known to be UTF-8.
    num_threads: the calling thread and those beside it.
    """
    cdef list batch = list(texts)
    cdef Array offsets = int64_array(len(batch) + 1)
    cdef int64_t* ends = <int64_t*> offsets._items + 1
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef Jobs jobs = Jobs(encoder._ready(), batch, None, None, False, checked=True)
    cdef bint has_capacity = take_spare(&ids, jobs.max_ids) > 0
    cdef size_t i
    try:
        if num_threads == 1:
            jobs.run_alone(&ids, has_capacity)
        else:
            jobs.run_into(&ids, has_capacity, num_threads)
        jobs.add_counts(ends)
        for i in range(1, <size_t> len(batch)):
            ends[i] += ends[i - 1]
        return ids_array(&ids, jobs.max_ids), offsets
    finally:
        ids_free(&ids)


def encode_json_lines(Encoder encoder not None, bytes block not None, str field not None):
    """Encode the strings under a field of JSON lines; return (ids, offsets, bytes of text), or None.

    block: whole lines; the last one may lack its newline.
    field: name of the field.

    Returns None if a line is not plain (see `texts_of_lines`). No text becomes an object: each is encoded while
    the processor's caches hold the line.
    """
    cdef size_t n_lines = n_newlines(block) + (not block.endswith(b"\n") and len(block) > 0)
    cdef Array offsets = int64_array(n_lines + 1)
    cdef int64_t* offset = <int64_t*> offsets._items
    cdef JsonLines lines = JsonLines(block, field)
    cdef Pipeline pipeline = encoder._ready()
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Ids ids = Ids(NULL, 0, 0), own = scratch.ids
    cdef size_t n_bytes = 0, n_units = len(block)
    cdef bint has_capacity = take_spare(&ids, n_units) > 0
    scratch.ids = ids
    try:
        with nogil:
            if not has_capacity:
                ids_expect(&scratch.ids, n_units // UNITS_PER_ID)
            n_lines -= _append_lines(pipeline, lines, scratch, offset, n_lines, &n_bytes)
    except BaseException:
        ids_free(&scratch.ids)
        raise
    finally:
        ids, scratch.ids = scratch.ids, own
        pipeline.pool.give(scratch)
    if n_lines:
        ids_free(&ids)
        return None
    return ids_array(&ids, n_units), offsets, n_bytes


cdef Py_ssize_t _append_lines(
    Pipeline pipeline, JsonLines lines, Scratch* scratch, int64_t* offset, size_t n_lines, size_t* n_bytes
) except -1 nogil:
    """Append the ids of the texts of lines, up to the first line that is not plain; return the number of plain lines.

    offset: offset[i + 1] is set to the end of line i's ids.
    n_bytes: increased by the bytes of the texts.
    """
    cdef Line line
    cdef Bytes found
    cdef Text text = Text(NULL, 0, 1, True, NULL)
    cdef size_t i
    for i in range(1, n_lines + 1):
        if not lines.next(&line) or not lines.text(&line, &found):
            return <Py_ssize_t> i - 1
        text.data, text.n = found.data, found.n
        pipeline.encode(&text, 0, text.n, None, None, scratch)
        n_bytes[0] += text.n
        offset[i] = scratch.ids.n
    return <Py_ssize_t> n_lines
