from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.normalize.charsmap_rules cimport Rules
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef struct Normalized:
    # Output of the normalizer, and its state between calls. All zero at first; normalized_free frees it.
    uint8_t* data
    size_t n
    size_t capacity
    uint32_t* offsets  # offset in the text of each byte of data, then of the end; NULL if not asked for
    bint with_offsets
    size_t at  # offset in the text up to which it is read
    bint after_space  # spaces that come now are left out
    bint is_empty  # the text holds only spaces that are left out: offsets has no end either


cdef struct Step:
    # One step of the normalizer: n_bytes of the text become data[:n].
    const uint8_t* data
    size_t n
    size_t n_bytes


cdef int normalized_reserve(Normalized* out, size_t n_more) noexcept nogil
cdef void normalized_free(Normalized* out) noexcept nogil


cdef class Normalizer:
    cdef:
        bint _dummy_prefix, _trim, _escape, _suffix, _metaspace_to_space
        Rules _rules  # or None
        SpecialMatcher _symbols
        uint8_t* _starts  # bits by code point: a rule or a symbol may begin with the character; NULL: none does
        uint8_t _symbol_starts[256]  # bool by byte: a symbol begins with it
        uint8_t _ascii[128]  # replacement if ASCII or nothing follows; LOOK: search rules and symbols
        readonly bint gives_utf8  # each replacement and each symbol is UTF-8, and so is all that it writes
        bint _plain_words  # no character from ! to ~ has another replacement than itself

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
