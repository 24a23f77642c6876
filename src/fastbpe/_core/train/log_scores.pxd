from libc.stdint cimport uint32_t


cdef double digamma(double x) noexcept nogil
cdef float loss_without(
    const float* found, size_t i, const uint32_t* others, size_t n, float total, float log_total
) noexcept nogil
