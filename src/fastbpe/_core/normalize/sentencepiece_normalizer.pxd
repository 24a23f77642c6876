from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.normalize.charsmap_rules cimport Rules
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef struct Normalized:
    # What has been written so far; all zero at first. The caller frees it with normalized_free.
    uint8_t* data
    size_t n
    size_t room
    uint32_t* offsets  # of each byte written and, at the end, of the end; NULL unless asked for
    bint with_offsets
    size_t at  # how far the text has been read
    bint after_space  # spaces that come now are left out
    bint is_empty  # the text is nothing but spaces that are left out: there is no end either


cdef struct Step:
    # What stands at a place of the text: n_bytes of it become data[:n].
    const uint8_t* data
    size_t n
    size_t n_bytes


cdef int normalized_room(Normalized* out, size_t n_more) noexcept nogil
cdef void normalized_free(Normalized* out) noexcept nogil


cdef class Normalizer:
    cdef:
        bint _dummy_prefix, _trim, _escape, _suffix, _unmark
        Rules _rules  # or None
        SpecialMatcher _symbols
        uint8_t* _starts  # a bit for each code point: a rule or a symbol may begin with it; NULL: none does
        uint8_t _symbol_starts[256]
        uint8_t _ascii[128]  # what a character becomes where ASCII or nothing follows; LOOK: that is not enough
        bint _plain_words  # nothing from ! to ~ becomes anything else there

    cdef void _note_symbol(self, const uint8_t* symbol, size_t n) noexcept nogil
    cdef void _set_ascii(self) noexcept nogil
    cdef void _step(self, const uint8_t* text, size_t n, size_t at, Step* step) noexcept nogil
    cdef void _write_space(self, Normalized* out, size_t at) noexcept nogil
    cdef int _put(self, Normalized* out, const Step* step) noexcept nogil
    cdef int begin(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil
    cdef int go_on(self, Normalized* out) noexcept nogil
    cdef int advance(self, const uint8_t* text, size_t n, size_t stop, Normalized* out) noexcept nogil
    cdef int finish(self, Normalized* out) noexcept nogil
    cdef int run(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil
    cdef object _normalized(self, bytes text, bint with_offsets)
