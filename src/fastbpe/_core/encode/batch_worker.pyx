"""Encoding for the threads of a caller: without the GIL however short texts are, of text that was checked before.

What is found in the text are the tokens that always are; special tokens are ordinary text.
"""

from libc.stdint cimport int64_t

from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.encode.parallel cimport Jobs
from fastbpe._core.text.json_lines cimport Bytes, JsonLines, Line
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free
from fastbpe._core.ids.id_lists cimport Array, ids_array, int64_array, take_spare
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.text.utf8_text cimport Text


def encode_texts(Encoder encoder not None, texts, int num_threads):
    """The ids of all texts (str, or bytes that are UTF-8) end to end, and where each one's begin and the last end."""
    cdef list window = list(texts)
    cdef Array offsets = int64_array(len(window) + 1)
    cdef int64_t* ends = <int64_t*> offsets._items + 1
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef Jobs jobs = Jobs(encoder._ready(), window, None, None, False, checked=True)
    cdef bint has_room = take_spare(&ids, jobs.n_room) > 0
    cdef size_t i
    try:
        if num_threads == 1:
            jobs.run_alone(&ids, has_room)
        else:
            jobs.run_into(&ids, has_room, num_threads)
        jobs.add_counts(ends)
        for i in range(1, <size_t> len(window)):
            ends[i] += ends[i - 1]
        return ids_array(&ids, jobs.n_room), offsets
    finally:
        ids_free(&ids)


def encode_json_lines(Encoder encoder not None, bytes block not None, size_t n_lines, str field not None):
    """The same of the texts that lines of JSON hold under a field, and how many bytes these are.

    No text ever is an object: each is encoded while the caches hold what was read. None where a line is not plain
    (see `texts_of_lines`).
    """
    cdef Array offsets = int64_array(n_lines + 1)
    cdef int64_t* offset = <int64_t*> offsets._items
    cdef JsonLines lines = JsonLines(block, field)
    cdef Pipeline pipeline = encoder._ready()
    cdef Scratch* scratch = pipeline.take()
    cdef Ids ids = Ids(NULL, 0, 0), own = scratch.ids
    cdef size_t n_bytes = 0, n_units = len(block)
    cdef bint has_room = take_spare(&ids, n_units) > 0
    scratch.ids = ids
    try:
        with nogil:
            if not has_room:
                ids_expect(&scratch.ids, n_units // 3)
            n_lines -= _append_lines(pipeline, lines, scratch, offset, n_lines, &n_bytes)
    except BaseException:
        ids_free(&scratch.ids)
        raise
    finally:
        ids, scratch.ids = scratch.ids, own
        pipeline.give(scratch)
    if n_lines:
        ids_free(&ids)
        return None
    return ids_array(&ids, n_units), offsets, n_bytes


cdef Py_ssize_t _append_lines(
    Pipeline pipeline, JsonLines lines, Scratch* scratch, int64_t* offset, size_t n_lines, size_t* n_bytes
) except -1 nogil:
    """Append the ids of all texts, and store where each one's end. How many lines there were before one not plain."""
    cdef Line line
    cdef Bytes found
    cdef Text text = Text(NULL, 0, 1, True, NULL)
    cdef size_t i
    for i in range(1, n_lines + 1):
        if not lines.next(&line) or not lines.text(&line, &found):
            return <Py_ssize_t> i - 1
        text.data, text.n = found.data, found.n
        pipeline.encode(&text, 0, text.n, None, None, scratch, NULL)
        n_bytes[0] += text.n
        offset[i] = scratch.ids.n
    return <Py_ssize_t> n_lines
