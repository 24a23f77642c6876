from libc.stdint cimport int32_t, uint8_t, uint32_t
from cpython.buffer cimport Py_buffer

from fastbpe._core.common.hash_tables cimport Pairs, PieceSlot
from fastbpe._core.merge.codepoint_symbols cimport Characters


cdef struct Tables:
    # Views of buffers that a Vocabulary owns; nothing here is written after its birth.
    const uint8_t* token_bytes
    const uint32_t* token_ends  # token i is token_bytes[token_ends[i - 1]:token_ends[i]]; empty: no token
    uint32_t n_ids
    uint32_t n_tokens
    uint32_t max_token_bytes
    const PieceSlot* pieces
    size_t piece_mask
    Pairs pairs
    uint32_t byte_ids[256]
    const int32_t* byte_keys  # for a ranked vocabulary: what pair_key gives for two bytes, at first << 8 | second
    bint whole_piece_first
    const Characters* characters  # NULL: the base symbols are bytes, and tokens are ids
    int32_t tied_key  # keys from here on may share their priority with others; NO_KEY: none does


cdef class Vocabulary:
    cdef readonly bint drops_bytes  # some byte is no token
    cdef Tables tables
    cdef Py_buffer _views[4]
    cdef int _n_views
    cdef bint _ranked
    cdef object _code_points  # owns what tables.characters points to
    cdef str _name(self, int i)
    cdef int _take(self, int i, object source, size_t item_size, size_t* n_items) except -1
    cdef int _check(self, bint drops_bytes) except -1
    cdef int _key_bytes(self) except -1
    cdef bytes token(self, uint32_t token_id)


cdef bint ends_rise(const Tables* t, size_t n_bytes, uint32_t* n_tokens, uint32_t* longest) noexcept nogil


cdef inline uint32_t token_start(const Tables* t, uint32_t i) noexcept nogil:
    return t.token_ends[i - 1] if i else 0


cdef inline uint32_t token_length(const Tables* t, uint32_t i) noexcept nogil:
    return t.token_ends[i] - token_start(t, i)


cdef inline bint is_token(const Tables* t, uint32_t i) noexcept nogil:
    return i < t.n_ids and token_length(t, i) > 0
