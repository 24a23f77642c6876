from libc.stdint cimport uint32_t

from fastbpe._core.merge.vocabulary cimport Tables


cdef dict look_up_pieces(token_bytes, token_ends, Tables* t, uint32_t* n_repeated)
cdef object empty_table(size_t n_bytes, void** slots)
cdef object colliding(str entry)
cdef bint is_sound(const Tables* t, const uint32_t* merge) noexcept nogil
