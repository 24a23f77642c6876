from libc.stdint cimport uint8_t

from fastbpe._core.encode.spans cimport Spans
from fastbpe._core.text.utf8_text cimport Text


cdef enum SpanUnit:
    CHARACTERS
    BYTES  # of UTF-8
    UTF16  # 16-bit units, as JavaScript, Java and C# count


cdef struct Cursor:
    # A character of a text.
    size_t byte  # offset of the character in UTF-8
    size_t at  # index of the character in the units of a str; in UTF-8, among the characters
    size_t n_bytes  # length in UTF-8; only for a str
    size_t n_units  # length in units; only for a str


cdef struct Walk:
    # Progress through a text
    Cursor cursor  # end of the last span
    Cursor begun  # start of the last span


cdef size_t move_to(const Text* text, Cursor* cursor, size_t byte) noexcept nogil
cdef void to_characters(const Text* text, Spans* spans) noexcept nogil
cdef void to_characters_on(const Text* text, Spans* spans, Walk* walk) noexcept nogil
cdef int span_unit(object unit) except -1
cdef void to_unit(const Text* text, Spans* spans, int unit) noexcept nogil
cdef bint is_ascii(const uint8_t* data, size_t n) noexcept nogil
cdef void bytes_to_unit(const uint8_t* data, size_t n, Spans* spans, int unit) noexcept nogil
