from libc.stdint cimport uint8_t


cdef size_t last_safe_cut(const uint8_t* data, size_t n) noexcept nogil
cdef size_t first_safe_cut(const uint8_t* data, size_t n, size_t at) noexcept nogil
