from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef class TokenTexts:
    cdef uint8_t* _bytes  # of all texts, end to end
    cdef size_t* _ends  # text i is _bytes[_ends[i]:_ends[i + 1]]
    cdef uint64_t* heads  # first 8 bytes of each text as a number in the order of the texts, filled up with zeros
    cdef size_t _bytes_capacity, _ends_capacity, _heads_capacity
    cdef readonly uint32_t n
    cdef bytes _prefix
    cdef const uint8_t* _prefix_bytes
    cdef size_t _n_prefix
    cdef uint8_t* _place(self, size_t n_bytes) except NULL nogil
    cdef int _append(self, size_t n_bytes) except -1 nogil
    cdef int append_joined(self, uint32_t left, uint32_t right) except -1 nogil
    cdef int compare(self, uint32_t a, uint32_t b) noexcept nogil
