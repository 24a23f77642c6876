from libc.stdint cimport uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables


cdef class SequenceVocabulary:
    cdef Tables tables  # only n_ids, n_tokens, pairs, tied_key and max_token_bytes, which counts symbols, are set
    cdef readonly uint32_t base_size
    cdef readonly bytes packed_merges  # little-endian uint32 pairs (left id, right id), best first
    cdef bytes _read_merges  # packed_merges in the machine's byte order
    cdef const uint32_t* _merges  # into _read_merges
    cdef uint32_t* lengths  # number of symbols of each id
    cdef size_t _max_depth  # greatest number of right halves that wait while a token is expanded
    cdef object _pairs  # owner of the pair table
    cdef int _measure(self) except -1
    cdef int _build_pairs(self) except -1
    cdef int expand(self, const uint32_t* ids, size_t n, size_t n_symbols, Ids* out) except -1 nogil
