from libc.stdint cimport uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef class SequenceVocabulary:
    cdef Tables tables  # n_ids, pairs and max_token_bytes, which counts symbols; the rest is empty
    cdef readonly uint32_t base_size
    cdef readonly bytes packed_merges  # uint32 pairs (left id, right id), best first
    cdef const uint32_t* _merges  # into packed_merges
    cdef uint32_t* lengths  # symbols of each id
    cdef size_t _max_depth  # waiting right halves while a token is expanded, at most
    cdef object _pairs  # owner of the pair table
    cdef int _measure(self) except -1
    cdef int _build_pairs(self) except -1
    cdef int expand(self, const uint32_t* ids, size_t n, size_t n_symbols, Ids* out) except -1 nogil
