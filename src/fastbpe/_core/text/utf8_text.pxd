from libc.stdint cimport uint8_t, uint16_t, uint32_t


cdef struct Text:
    # View of a text in units: bytes of UTF-8, or the code points of a str. The memory belongs to the object unless
    # `owned` is set.
    const void* data
    size_t n  # units
    int unit  # bytes per unit: 1, 2 or 4
    bint is_utf8  # bytes, or an ASCII str; otherwise units are code points, including surrogates
    uint8_t* owned  # memory that text_release() frees, or NULL


cdef struct Utf8:
    # View of a text as UTF-8. The memory belongs to the object unless `owned` is set.
    const uint8_t* data
    size_t n  # bytes
    uint8_t* owned  # memory that utf8_release() frees, or NULL


cpdef bint has_surrogates(object text) except -1
cdef bint has_surrogate(const Text* text) noexcept nogil
cdef int text_of(object text, Text* view) except -1
cdef int text_view(object text, Text* view) except -1
cdef object not_utf8(str what, uint8_t byte, size_t at)
cdef void text_release(Text* view) noexcept nogil
cdef void text_prefetch(const Text* text) noexcept nogil
cdef void prefetch_after(list texts, size_t i) noexcept
cdef size_t utf8_capacity(const Text* text, size_t n_units) noexcept nogil
cdef size_t text_utf8(const Text* text, size_t start, size_t end, uint8_t* out) noexcept nogil
cdef int utf8_of(object text, Utf8* view) except -1
cdef void utf8_release(Utf8* view) noexcept nogil
cdef size_t first_invalid(const uint8_t* data, size_t n) noexcept nogil
cdef void character_starts(const uint8_t* data, size_t n, uint8_t* starts) noexcept nogil


cdef inline uint32_t text_unit(const Text* text, size_t i) noexcept nogil:
    """Unit i of a text."""
    if text.unit == 1:
        return (<const uint8_t*> text.data)[i]
    if text.unit == 2:
        return (<const uint16_t*> text.data)[i]
    return (<const uint32_t*> text.data)[i]
