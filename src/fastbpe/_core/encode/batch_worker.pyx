"""Encode many texts to one array, for callers with their own threads and for rows.

Threads of the caller encode without the GIL, however short the texts are. `encode_texts` and `encode_separated` need
text that is known to be UTF-8; `encode_json_lines` checks it. In all three, special tokens are plain text, but the
added tokens of `Pipeline.always` become their ids. Rows are texts in one buffer, as in Arrow.
"""

from libc.stdint cimport int64_t

from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.encode.one_text cimport THREADS_FROM_UNITS, check_threads, n_threads_of
from fastbpe._core.encode.parallel_encoding cimport UNITS_PER_ARRAY_ID, Jobs
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.ids.id_lists cimport Array, ids_array, int64_array, take_spare
from fastbpe._core.text.json_lines cimport Bytes, JsonLines, Line
from fastbpe._core.text.json_lines import n_newlines
from fastbpe._core.text.separated_texts cimport SeparatedTexts
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.text_batches cimport TextRows
from fastbpe._core.text.utf8_text cimport Text

cdef enum:
    SIZE_STEP = 1 << 16  # sizes are rounded up to this, so most blocks of a file can reuse the last block's memory
    BATCH_ROWS = 1 << 16  # rows whose views are made at once


def encode_texts(Encoder encoder not None, texts, int num_threads):
    """Encode texts; return (uint32 ids of all texts end to end, int64 offsets into them: one more than texts).

    texts: an iterable of str, or of bytes that are known to be UTF-8.
    num_threads: number of threads, including the calling thread.
    """
    cdef list batch = list(texts)
    cdef Array offsets = int64_array(len(batch) + 1)
    cdef int64_t* ends = <int64_t*> offsets._items + 1
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef Jobs jobs = Jobs(encoder._ready(), batch, None, None, counting=False, checked=True)
    cdef size_t size = _rounded(jobs.max_ids)
    cdef bint has_capacity = take_spare(&ids, size) > 0
    cdef size_t i
    try:
        if num_threads == 1:
            jobs.run_alone(&ids, has_capacity)
        else:
            jobs.run_into(&ids, has_capacity, num_threads)
        jobs.add_counts(ends)
        for i in range(1, <size_t> len(batch)):
            ends[i] += ends[i - 1]
        return ids_array(&ids, size), offsets
    finally:
        ids_free(&ids)


def encode_json_lines(Encoder encoder not None, bytes block not None, str field not None):
    """Encode the strings in one field of JSON Lines; return (ids, offsets, number of bytes of text), or None.

    block: whole lines; the last one may lack its newline.
    field: name of the field.

    Returns None if a line is not plain (see `texts_of_lines`). No object is created for a text: each is encoded
    while its line is in the processor's caches.
    """
    cdef size_t n_lines = n_newlines(block) + (not block.endswith(b"\n") and len(block) > 0)
    return _encode_block(encoder, len(block), n_lines, JsonLines(block, field), None)


def encode_separated(Encoder encoder not None, SeparatedTexts texts not None):
    """Encode the texts between separators; return (ids, offsets, number of bytes of text).

    texts: texts in UTF-8.
    """
    cdef size_t n_texts, n_units = <size_t> (texts._end - texts._at)
    with nogil:
        n_texts = texts.count()
    return _encode_block(encoder, n_units, n_texts, None, texts)


cdef _encode_block(Encoder encoder, size_t n_units, size_t n_texts, JsonLines lines, SeparatedTexts separated):
    """Encode the texts of a block; return (ids, offsets, number of bytes of text), or None if a line is not plain.

    n_units: bytes of the block.
    n_texts: number of texts in the block.
    lines, separated: reader of the block; one of the two is None.
    """
    cdef Array offsets = int64_array(n_texts + 1)
    cdef int64_t* offset = <int64_t*> offsets._items
    cdef Pipeline pipeline = encoder._ready()
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Ids ids = Ids(NULL, 0, 0), own = scratch.ids
    cdef size_t n_bytes = 0, n_done
    cdef bint has_capacity = take_spare(&ids, _rounded(n_units)) > 0
    scratch.ids = ids
    try:
        with nogil:
            if not has_capacity:
                ids_expect(&scratch.ids, n_units // UNITS_PER_ARRAY_ID)
            if lines is None:
                n_done = _append_separated(pipeline, separated, scratch, offset, &n_bytes)
            else:
                n_done = _append_lines(pipeline, lines, scratch, offset, n_texts, &n_bytes)
    except BaseException:
        ids_free(&scratch.ids)
        raise
    finally:
        ids, scratch.ids = scratch.ids, own
        pipeline.pool.give(scratch)
    if n_done < n_texts:
        ids_free(&ids)
        return None
    return ids_array(&ids, _rounded(n_units)), offsets, n_bytes


cdef inline size_t _rounded(size_t n_units) noexcept:
    """Round the size of a block up, for take_spare() and ids_array()."""
    return (n_units + SIZE_STEP - 1) // SIZE_STEP * SIZE_STEP


cdef Py_ssize_t _append_separated(
    Pipeline pipeline, SeparatedTexts texts, Scratch* scratch, int64_t* offset, size_t* n_bytes
) except -1 nogil:
    """Append the ids of all texts; return the number of texts. offset, n_bytes: as for `_append_lines`."""
    cdef Bytes found
    cdef Text text = Text(NULL, 0, 1, True, NULL)
    cdef Py_ssize_t n = 0
    while texts.next(&found):
        text.data, text.n = found.data, found.n
        pipeline.encode(&text, 0, text.n, None, None, scratch)
        n_bytes[0] += text.n
        n += 1
        offset[n] = scratch.ids.n
    return n


cdef Py_ssize_t _append_lines(
    Pipeline pipeline, JsonLines lines, Scratch* scratch, int64_t* offset, size_t n_lines, size_t* n_bytes
) except -1 nogil:
    """Append the ids of the texts of lines, up to the first line that is not plain; return the number of plain lines.

    offset: offset[i + 1] is set to the end of line i's ids.
    n_bytes: increased by the number of bytes of the texts.
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


def encode_rows(Encoder encoder not None, TextRows rows not None, allowed_special, disallowed_special, num_threads):
    """Encode rows; return (uint32 ids of all rows end to end, int64 offsets into them: one more than rows).

    allowed_special, disallowed_special, num_threads: as in `Tokenizer.encode_batch`.
    """
    cdef Pipeline pipeline = encoder._ready()
    cdef SpecialMatcher allowed, disallowed
    cdef size_t n = <size_t> len(rows), first, last, i
    cdef Array offsets = int64_array(n + 1)
    cdef int64_t* ends = <int64_t*> offsets._items
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef Jobs jobs
    check_threads(num_threads)
    allowed, disallowed = encoder._matchers(allowed_special, disallowed_special)
    try:
        for first in range(0, n, BATCH_ROWS):
            last = min(first + BATCH_ROWS, n)
            jobs = Jobs(pipeline, [], allowed, disallowed, counting=False, rows=rows, first_row=first, last_row=last)
            if jobs.max_ids < THREADS_FROM_UNITS:  # about the number of bytes: so few that signals can wait
                jobs.run_alone(&ids, False)
            else:
                jobs.run_into(&ids, False, n_threads_of(pipeline, jobs.max_ids, num_threads))
            jobs.add_counts(ends + 1 + first)
        for i in range(n):
            ends[i + 1] += ends[i]
        return ids_array(&ids), offsets
    finally:
        ids_free(&ids)
