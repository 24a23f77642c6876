from libc.stdint cimport uint8_t

from fastbpe._core.common.places cimport Places
from fastbpe._core.encode.scratch_pool cimport Scratch, add_id
from fastbpe._core.encode.spans cimport Spans
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.text.special_tokens cimport Match

cdef void add_to_spans(Spans* spans, size_t first, size_t by) noexcept nogil
cdef void spans_without_prefix(Spans* spans, size_t first, size_t least_end) noexcept nogil
cdef void spans_at_places(Spans* spans, size_t first, const Places* places) noexcept nogil
cdef int note_token_found(Scratch* scratch, const uint8_t* data, const Match* match) except -1 nogil
cdef int merge_with_spans(
    const Tables* tables, bint drops_bytes, const uint8_t* data, size_t n, size_t start, size_t end, Scratch* scratch
) except -1 nogil


cdef inline size_t n_spans(const Scratch* scratch) noexcept nogil:
    """Return the number of spans so far; 0 if spans are not recorded."""
    return 0 if scratch.spans == NULL else scratch.spans.n


cdef inline void shift_spans(const Scratch* scratch, size_t first, size_t by) noexcept nogil:
    """Add `by` to the spans from index first on, if spans are recorded."""
    if scratch.spans != NULL and by:
        add_to_spans(scratch.spans, first, by)


cdef inline int add_found(Scratch* scratch, const uint8_t* data, const Match* match) except -1 nogil:
    """Append the id of a special or added token, and record the token if spans are recorded."""
    add_id(scratch, match.id)
    return 0 if scratch.spans == NULL else note_token_found(scratch, data, match)
