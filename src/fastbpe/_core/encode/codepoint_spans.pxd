from libc.stdint cimport uint32_t, uint8_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.common.places cimport Places
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.spans cimport Spans
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized


cdef int merge_characters_with_spans(
    const Tables* tables, Widths widths, uint32_t fused, const uint8_t* data, size_t n, size_t start, Scratch* scratch
) except -1 nogil
cdef int add_bytes_with_spans(
    const uint32_t* ids, const uint8_t* data, size_t n, size_t at, Scratch* scratch
) except -1 nogil
cdef void spans_at_offsets(Spans* spans, size_t first, const Normalized* normalized) noexcept nogil
cdef void spans_at_sources(Spans* spans, size_t first, const Places* places, size_t n) noexcept nogil
cdef void spans_as_tokenizers(
    Spans* spans, size_t first, const uint8_t* text, size_t n, const Ids* prefixed, bint removes_spaces
) noexcept nogil
cdef bint has_metaspace(const uint8_t* text, size_t n) noexcept nogil


cdef extern from *:
    # Special values of a width; as Cython enums they would be ints.
    """
    #define FASTBPE_UNKNOWN_CHARACTER 0u
    #define FASTBPE_BYTE_OF_CHARACTER UINT32_MAX
    """
    const uint32_t UNKNOWN_CHARACTER "FASTBPE_UNKNOWN_CHARACTER"  # the width is the length of the character
    const uint32_t BYTE_OF_CHARACTER "FASTBPE_BYTE_OF_CHARACTER"  # the id is one of a character's byte ids


cdef class Widths:
    cdef uint32_t* of  # by id: bytes of normalized text, or UNKNOWN_CHARACTER or BYTE_OF_CHARACTER
    cdef size_t n_ids
