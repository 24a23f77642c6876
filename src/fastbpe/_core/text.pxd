from libc.stdint cimport uint8_t


cdef struct Utf8:
    # A view of text as UTF-8, lent by the object or, when owned, freed by utf8_release.
    const uint8_t* data
    size_t n
    uint8_t* owned


cdef int utf8_of(object text, Utf8* view) except -1
cdef void utf8_release(Utf8* view) noexcept nogil
cdef size_t first_invalid(const uint8_t* data, size_t n) noexcept nogil
