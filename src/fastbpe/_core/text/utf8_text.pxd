from libc.stdint cimport uint8_t


cdef struct Text:
    # A view of a str or of UTF-8: n units of `unit` bytes, lent by the object or, when owned, ours.
    const void* data
    size_t n
    int unit
    bint is_utf8  # as are ASCII strings; else the units are code points or, of 2 bytes, maybe surrogates
    uint8_t* owned


cdef struct Utf8:
    # A view of text as UTF-8, lent by the object or, when owned, freed by utf8_release.
    const uint8_t* data
    size_t n
    uint8_t* owned


cpdef bint has_surrogates(object text) except -1
cdef int text_of(object text, Text* view) except -1
cdef int text_view(object text, Text* view) except -1
cdef object not_utf8(str what, uint8_t byte, size_t at)
cdef void text_release(Text* view) noexcept nogil
cdef void text_prefetch(const Text* text) noexcept nogil
cdef void prefetch_after(list texts, size_t i) noexcept
cdef size_t text_room(const Text* text, size_t n_units) noexcept nogil
cdef size_t text_utf8(const Text* text, size_t start, size_t end, uint8_t* out) noexcept nogil
cdef int utf8_of(object text, Utf8* view) except -1
cdef void utf8_release(Utf8* view) noexcept nogil
cdef size_t first_invalid(const uint8_t* data, size_t n) noexcept nogil
cdef void character_starts(const uint8_t* data, size_t n, uint8_t* starts) noexcept nogil
