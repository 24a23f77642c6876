from libc.stdint cimport uint8_t

from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text


cdef struct Span:
    size_t start
    size_t end


cdef struct Spans:
    # Spans of the ids of a text, in order. Their starts rise, and so do their ends.
    Span* items
    size_t n
    size_t capacity


cdef int add_span_of_id(Spans* spans, size_t start, size_t end) except -1 nogil
cdef void spans_free(Spans* spans) noexcept nogil
cdef int encode_spans(
    Pipeline pipeline,
    const uint8_t* data,
    size_t n,
    SpecialMatcher allowed,
    SpecialMatcher disallowed,
    Scratch* scratch,
    Spans* spans,
    list found,
) except -1 nogil
cdef void to_characters(const Text* text, Spans* spans) noexcept nogil
cdef list spans_list(const Spans* spans)
