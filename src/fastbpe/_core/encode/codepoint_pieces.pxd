from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.codepoint_spans cimport Widths
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, Normalizer
from fastbpe._core.segment.lattice cimport Lattice, Paths


cdef class NormalizedText:
    cdef Normalized text


cdef class Tokens:
    cdef Ids _ids
    cdef uint32_t* _ends  # by token: its end in the normalized text, in bytes
    cdef NormalizedText _normalized
    cdef bytes _text
    cdef TokenEncoder _encoder
    cdef list _pieces(self, list names, bint as_bytes)
    cdef object _surface(self, size_t start, size_t end, bint as_bytes)


cdef class TokenEncoder:
    cdef Pipeline _pipeline
    cdef Normalizer _normalizer
    cdef Widths _widths
    cdef bint _marks_spaces
    cdef Tokens _start(self, bytes text, bint offsets)
    cdef Tokens _of_path(self, Tokens start, const Lattice* lattice, const Paths* paths, size_t number)
    cdef int _find_paths(self, Tokens start, size_t n_best, int64_t milliseconds, Lattice* lattice, Paths* paths) except -1
    cdef int _encode(
        self, const uint8_t* data, size_t n, double dropout, uint64_t seed, Scratch* scratch, Tokens out
    ) except -1 nogil
    cdef int _encode_with_dropout(
        self, const uint8_t* data, size_t n, double rate, uint64_t seed, Scratch* scratch
    ) except -1 nogil
    cdef int _measure(self, Ids* ids, Tokens out) except -1 nogil
    cdef size_t _ends_of(
        self, const uint8_t* data, size_t n_data, const uint32_t* ids, size_t n_ids, uint32_t* out, uint32_t* ends
    ) noexcept nogil
