from libc.stdint cimport uint8_t

from fastbpe._core.ids.id_lists cimport Array
from fastbpe._core.text.utf8_text cimport Text


cdef enum SpanUnit:
    CHARACTERS
    BYTES  # of UTF-8
    UTF16  # 16-bit units, as JavaScript, Java and C# count


cdef struct Span:
    size_t start
    size_t end


cdef struct Spans:
    # Spans of the ids of a text, in order. Their starts never decrease, and neither do their ends.
    Span* items
    size_t n
    size_t capacity


cdef struct Cursor:
    # A character of a text
    size_t byte  # its offset in UTF-8
    size_t at  # its index in the text's units
    size_t n_bytes
    size_t n_units


cdef struct Walk:
    # Progress through a text
    Cursor cursor  # end of the last span
    Cursor begun  # start of the last span


cdef int spans_grow(Spans* spans) except -1 nogil
cdef void spans_expect(Spans* spans, size_t n_more) noexcept nogil
cdef void spans_free(Spans* spans) noexcept nogil
cdef size_t move_to(const Text* text, Cursor* cursor, size_t byte) noexcept nogil
cdef void to_characters(const Text* text, Spans* spans) noexcept nogil
cdef void to_characters_on(const Text* text, Spans* spans, Walk* walk) noexcept nogil
cdef int span_unit(object unit) except -1
cdef void to_unit(const Text* text, Spans* spans, int unit) noexcept nogil
cdef bint is_ascii(const uint8_t* data, size_t n) noexcept nogil
cdef void bytes_to_unit(const uint8_t* data, size_t n, Spans* spans, int unit) noexcept nogil
cdef list spans_list(const Spans* spans)
cdef void take_spare_spans(Spans* spans, size_t n_units) noexcept
cdef Array spans_array(Spans* spans, size_t n_units=*)
cdef object append_spans(list out, const Spans* spans, object end)
cdef size_t free_shared_tuples() noexcept


cdef inline int add_span_of_id(Spans* spans, size_t start, size_t end) except -1 nogil:
    """Append a span."""
    if spans.n == spans.capacity:
        spans_grow(spans)
    spans.items[spans.n] = Span(start, end)
    spans.n += 1
    return 0
