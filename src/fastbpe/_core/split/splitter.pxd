from libc.stdint cimport uint8_t


cdef extern from *:
    """
    #include <stdint.h>
    #define FB_UNMATCHED (SIZE_MAX ^ (SIZE_MAX >> 1))
    """
    # Set in an end: what ends there is no piece but text to be passed over. No text is so long as to need it.
    const size_t UNMATCHED "FB_UNMATCHED"


cdef struct Ends:
    # Where each piece (or gap) of a text ends, in bytes; the next one starts there.
    size_t* items
    size_t n
    size_t capacity
    # For messages: where the whole text begins, and if what is split are stand-ins of bytes, a character for each,
    # where they begin and of which byte of the text the first one is.
    const uint8_t* text
    const uint8_t* stand_ins
    size_t stand_ins_at


cdef int ends_reserve(Ends* ends, size_t n_more) except -1 nogil
cdef int ends_add(Ends* ends, size_t end) except -1 nogil
cdef size_t n_pieces(const Ends* ends) noexcept nogil
cdef size_t place_in_text(const Ends* ends, const uint8_t* at) noexcept nogil
cdef void ends_free(Ends* ends) noexcept nogil


cdef class Splitter:
    cdef readonly bint cuttable  # at the places that cuts.pyx finds, without a change to the pieces
    cdef readonly bint holds_gil  # so that threads are no use
    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil
    cdef list _spans(self, text)


cdef class RegexSplitter(Splitter):
    cdef object _pattern
    cdef str _shown
    cdef size_t _mark
    cdef int _split(self, const uint8_t* data, size_t n, Ends* ends) except -1
