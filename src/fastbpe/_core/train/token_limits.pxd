from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef struct Forbidden:
    const uint8_t* text
    size_t n


cdef struct TokenFacts:
    size_t start  # offset of the token's bytes
    uint32_t n_bytes
    uint32_t n_words  # parts between spaces that are not empty
    bint is_forbidden  # it contains a forbidden text


cdef class TokenLimits:
    cdef uint8_t* _bytes  # of all tokens, end to end
    cdef size_t _n_bytes, _bytes_capacity
    cdef TokenFacts* _facts
    cdef size_t _n, _facts_capacity
    cdef uint32_t _max_bytes, _max_words
    cdef tuple _forbidden_texts
    cdef Forbidden* _forbidden  # the same texts, for code without the GIL
    cdef size_t _n_forbidden
    cdef int _append(self, const uint8_t* token, size_t n) except -1
    cdef bint _crosses(self, const TokenFacts* left, const TokenFacts* right) noexcept nogil
    cdef bint allows(self, uint32_t left, uint32_t right) noexcept nogil
    cdef uint64_t head(self, uint32_t token) noexcept nogil
    cdef int compare(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int add(self, uint32_t left, uint32_t right) except -1
