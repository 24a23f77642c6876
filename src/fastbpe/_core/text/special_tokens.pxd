from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef extern from "simd/prefix_tables.h":
    ctypedef struct fb_prefixes:
        pass


cdef struct Match:
    # A token found in a text; offsets in bytes. next() reads end and resume of the previous match.
    size_t start
    size_t end
    uint32_t index  # of the token in SpecialMatcher.tokens
    uint32_t id
    size_t resume  # offset at which the next search starts


cdef class SpecialMatcher:
    cdef public str every  # Python expression for the set of all special tokens, quoted in errors
    # The trie: node 0 is its root.
    cdef uint64_t* _edges  # slot: node << 8 | byte; all ones: empty
    cdef uint32_t* _children  # slot: child node of the edge
    cdef uint32_t* _ends_here  # node: index of the token that ends there, or NONE
    cdef size_t _mask  # slots - 1
    cdef uint32_t _n_nodes
    cdef uint32_t[256] _roots  # first byte: child of the root, or NONE
    # To skip text in which no token begins:
    cdef fb_prefixes _prefixes  # the first three bytes of all tokens
    cdef uint8_t _only_start  # the first byte of all tokens, if _n_starts is 1
    cdef int _n_starts  # distinct first bytes
    cdef uint32_t* _ids  # index: id
    cdef uint8_t* _flags  # index: sum of the flags of special_tokens.pyx; NULL if no token has any
    cdef uint32_t* _words  # first and last code point of each range of word characters, ascending
    cdef size_t _n_words  # ranges
    cdef readonly list tokens  # of bytes
    cdef readonly SpecialMatcher then  # matcher of the tokens to find in normalized text, or None
    cdef readonly bint cuttable  # no safe cut of safe_cut_near() changes the matches, nor the matches of `then`
    cdef readonly bint ends_in_word  # the last byte of some token may belong to a letter or a number
    cdef uint32_t _child(self, uint32_t node, uint8_t byte) noexcept nogil
    cdef int _keep_flags(self, bytes flags, bytes words) except -1
    cdef int _keep_prefixes(self) except -1
    cdef int _add(self, bytes token, uint32_t index) except -1
    cdef bint find(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil
    cdef bint find_here(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil
    cdef bint next(self, const uint8_t* data, size_t n, Match* match) noexcept nogil
    cdef bint _find_inside(self, const uint8_t* data, size_t n, Match* match) noexcept nogil
    cdef bint _is_within_word(self, const uint8_t* data, size_t n, const Match* match) noexcept nogil
    cdef bint _is_word_character(self, uint32_t character) noexcept nogil
