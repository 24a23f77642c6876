from libc.stdint cimport uint8_t, uint32_t


cdef Py_ssize_t from_stand_ins(const uint8_t* token, uint32_t n, uint8_t* out) noexcept
cdef bint is_stand_in(str name) except -1
