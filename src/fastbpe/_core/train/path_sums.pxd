from libc.stdint cimport uint32_t

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.segment.lattice cimport Lattice, Node

cdef enum:
    UNKNOWN = 0  # piece that stands for characters that are not a piece, as in sentencepiece


cdef struct PathSums:
    # Memory of add_expected(). All 0 at first.
    float* before  # by position: log of the sum of exp(total) over the paths to it
    float* behind  # by position: log of the sum of exp(total) over the paths from it
    size_t capacity  # items of both


cdef int add_expected(const Lattice* lattice, PathSums* sums, float count, float* expected) except -1 nogil
cdef void sums_free(PathSums* sums) noexcept nogil


cdef inline uint32_t piece_of(const Node* node) noexcept nogil:
    """Return the piece that a node stands for."""
    return node.id if node.id != NONE else UNKNOWN
