from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.places cimport Places
from fastbpe._core.normalize.charsmap_rules cimport Rules
from fastbpe._core.normalize.class_pages cimport ClassPages
from fastbpe._core.normalize.text_steps cimport TextStep


cdef struct Written:
    # What the step has written so far.
    Buffer* out
    Places* places  # NULL: not requested
    size_t kept  # text from here on is unchanged and not written yet
    size_t n_last  # bytes of the last character of `out`, if the rule's source had fewer characters; otherwise 0
    bint is_shifted  # the first characters are removed: tokenizers does not count them, so the places are others


cdef class GraphemeRules(TextStep):
    cdef readonly object parts, sources
    cdef readonly bint are_utf8
    cdef Rules _rules
    cdef ClassPages _pages
    cdef uint8_t[0x80] _ascii  # the ASCII character itself if it stays; otherwise LOOK
    cdef inline uint8_t _class(self, uint32_t character) noexcept nogil
    cdef size_t _kept_end(self, const uint8_t* data, size_t n, size_t at) noexcept nogil
    cdef size_t _break_after(self, const uint8_t* data, size_t n, size_t at, bint* is_short) noexcept nogil
    cdef bint _add_characters(self, const uint8_t* data, size_t at, size_t end, Written* to) except -1 nogil
    cdef bint _add_parts(self, const uint8_t* data, size_t at, size_t end, Written* to) except -1
    cdef bint _add(
        self, const uint8_t* data, size_t at, size_t end, const uint8_t* becomes, size_t n, Written* to
    ) except -1 nogil
