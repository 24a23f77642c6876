from libc.stdint cimport uint8_t

from fastbpe._core.cache.two_phases cimport Phases
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.split.splitter cimport Ends


cdef int encode_byte_pieces(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends,
    Scratch* scratch,
) except -1 nogil
cdef size_t n_complete(const Phases* phases, const uint8_t* data, const Ends* ends, size_t first) noexcept nogil
