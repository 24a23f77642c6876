from libc.stdint cimport uint8_t


cdef struct Ends:
    # Where each piece of a text ends, in bytes; the next one starts there.
    size_t* items
    size_t n
    size_t capacity


cdef int ends_reserve(Ends* ends, size_t n_more) except -1 nogil
cdef int ends_add(Ends* ends, size_t end) except -1 nogil
cdef void ends_free(Ends* ends) noexcept nogil


cdef class Splitter:
    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil


cdef class RegexSplitter(Splitter):
    cdef object _pattern
    cdef int _split(self, const uint8_t* data, size_t n, Ends* ends) except -1
