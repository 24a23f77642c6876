from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef extern from "simd/prefixes.h":
    ctypedef struct fb_prefixes:
        pass


cdef struct Match:
    size_t start
    size_t end
    uint32_t index  # of the special token in the lists the matcher was made of
    uint32_t id
    size_t resume  # where to search for the next one


cdef class SpecialMatcher:
    cdef uint64_t* _edges  # node << 8 | byte, beside its child; open addressing
    cdef uint32_t* _children
    cdef uint32_t* _ends_here  # node: index of the special token that ends there, or NONE
    cdef size_t _mask
    cdef uint32_t _n_nodes
    cdef uint32_t[256] _roots  # the child of the root by the first byte, or NONE
    cdef fb_prefixes _prefixes
    cdef uint8_t _only_start
    cdef int _n_starts
    cdef uint32_t* _ids
    cdef uint8_t* _flags  # of each special token, or NULL
    cdef uint32_t* _words  # ranges of characters
    cdef size_t _n_words
    cdef readonly list tokens
    cdef readonly SpecialMatcher then
    cdef readonly bint cuttable  # text_cut cuts none of them
    cdef readonly bint ends_in_letter  # one of them ends in what may be a letter
    cdef uint32_t _child(self, uint32_t node, uint8_t byte) noexcept nogil
    cdef int _keep_flags(self, bytes flags, bytes words) except -1
    cdef int _keep_prefixes(self) except -1
    cdef int _add(self, bytes token, uint32_t index) except -1
    cdef bint find(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil
    cdef bint find_here(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil
    cdef bint next(self, const uint8_t* data, size_t n, Match* match) noexcept nogil
    cdef bint _is_within_word(self, const uint8_t* data, size_t n, const Match* match) noexcept nogil
    cdef bint _is_of_word(self, uint32_t character) noexcept nogil
