from fastbpe._core.ids.id_lists cimport Array


cdef struct Span:
    size_t start
    size_t end


cdef struct Spans:
    # Spans of the ids of a text, in order. Starts never decrease. An end is below the one before it if a token is found
    # in the spaces that an added token with rstrip takes.
    Span* items
    size_t n
    size_t capacity


cdef int spans_grow(Spans* spans) except -1 nogil
cdef void spans_expect(Spans* spans, size_t n_more) noexcept nogil
cdef void spans_free(Spans* spans) noexcept nogil
cdef list spans_list(const Spans* spans)
cdef void take_spare_spans(Spans* spans, size_t n_units) noexcept
cdef Array spans_array(Spans* spans, size_t n_units)
cdef object append_spans(list out, const Spans* spans, object end)
cdef size_t free_shared_tuples() noexcept


cdef inline int add_span_of_id(Spans* spans, size_t start, size_t end) except -1 nogil:
    """Append a span."""
    if spans.n == spans.capacity:
        spans_grow(spans)
    spans.items[spans.n] = Span(start, end)
    spans.n += 1
    return 0
