from libc.stdint cimport uint8_t, uint16_t, uint32_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.places cimport Places


cdef class TextStep:
    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil
    cdef bint map_ascii(self, uint8_t* table) noexcept nogil


cdef class Mapped(TextStep):
    cdef uint16_t _page_of[0x1100]
    cdef uint32_t* _numbers  # by page and low byte: 0: it stays; 1 + index of its replacement; GONE; SPACED
    cdef bytes _texts_owner
    cdef const uint8_t* _texts  # replacements, end to end
    cdef uint32_t* _ends  # end of each in _texts
    cdef uint8_t _ascii[0x80]  # replacement of each ASCII character, or itself; LOOK: not one ASCII character
    cdef bint _keeps_ascii  # no ASCII character is replaced
    cdef int add(self, const uint8_t* data, size_t start, size_t end, Buffer* out, Places* places) except -1 nogil
    cdef size_t _first_change(self, const uint8_t* data, size_t n) noexcept nogil
    cdef uint32_t _number_at(self, const uint8_t* p, size_t n, size_t* n_bytes) noexcept nogil


cdef class Changed(TextStep):
    cdef readonly object change
    cdef readonly object sources


cdef class Link:
    cdef TextStep step
    cdef Link then


cdef class Front:
    cdef readonly list steps
    cdef readonly object form  # Form; None unless it is the only step
    cdef readonly Front first  # to use at the beginning of a whole text; None: this one
    cdef readonly bint prefix_space
    cdef Link _first
    cdef uint8_t _ascii[0x80]  # result of all steps for each ASCII character; LOOK: not one ASCII character
    cdef bint _by_stretch  # the result of the steps for ASCII does not depend on the characters around it
    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil
    cdef bint _apply_to_stretches(
        self, const uint8_t* data, size_t n, Buffer* out, Places* places, Buffer* spare, Places* spare_places
    ) except -1 nogil
    cdef size_t _stretch_end(self, const uint8_t* data, size_t n, size_t at) noexcept nogil


cdef int keep_text(const uint8_t* data, size_t start, size_t end, Buffer* out, Places* places) except -1 nogil
cdef int put_text(const uint8_t* made, size_t n, size_t place, Buffer* out, Places* places) except -1 nogil
cdef int put_changed(
    bytes made, object sources, const uint8_t* data, size_t start, Buffer* out, Places* places
) except -1
