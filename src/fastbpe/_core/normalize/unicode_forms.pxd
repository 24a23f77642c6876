from libc.stdint cimport uint8_t, uint16_t, uint32_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.places cimport Places
from fastbpe._core.normalize.class_pages cimport ClassPages
from fastbpe._core.normalize.text_steps cimport Mapped, TextStep
from fastbpe._core.text.utf8_text cimport Text


cdef class Form(TextStep):
    cdef readonly str name
    cdef bint _decomposes  # the form only decomposes: no character composes with one before it
    cdef Mapped _mapped  # decompositions of single characters, made at first use; valid once _has_mapped is set
    cdef int _has_mapped  # atomic
    cdef ClassPages _pages
    cdef inline uint16_t _class(self, uint32_t character) noexcept nogil
    cdef bint _next(self, const uint8_t* data, size_t n, size_t at, size_t* start, size_t* end) noexcept nogil
    cdef size_t _segment_end(self, const uint8_t* data, size_t n, size_t at) noexcept nogil
    cdef int _add_normal(
        self, const uint8_t* data, size_t start, size_t end, Buffer* out, Places* places
    ) except -1
    cdef bint _has_no_mark(self, const uint8_t* data, size_t start, size_t end) noexcept nogil
    cdef Mapped _decompositions(self)
    cdef bint keeps_before(self, const Text* text, size_t at) noexcept nogil
