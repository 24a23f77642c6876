from libc.stdint cimport uint8_t

from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.normalize.piece_id_table cimport PieceIdTable

cdef void resolve(PieceIdTable table, Scratch* scratch, size_t first) noexcept nogil
cdef size_t take_code(PieceIdTable table, const uint8_t* data, size_t n, Scratch* scratch) except? <size_t> -1 nogil
