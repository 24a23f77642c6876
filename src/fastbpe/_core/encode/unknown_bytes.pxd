from libc.stdint cimport uint8_t

from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.spans cimport Spans
from fastbpe._core.merge.vocabulary cimport Tables

cdef bint has_byte_without_token(const Tables* tables, const uint8_t* data, size_t at, size_t end) noexcept nogil
cdef int merge_known_bytes(
    Pipeline pipeline, const uint8_t* data, size_t begin, Scratch* scratch, Spans* spans
) except -1 nogil
