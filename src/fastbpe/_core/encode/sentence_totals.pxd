from libc.stdint cimport uint8_t

from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.vocabulary cimport Tables


cdef int encode_all_pieces(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, Scratch* scratch
) except -1 nogil
