from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef extern from *:
    """
    #define FASTBPE_EXPANDED 0x80000000u
    """
    const uint32_t EXPANDED "FASTBPE_EXPANDED"


cdef struct Characters:
    # Of a code-point vocabulary, whose tokens are symbols that stand for ids and are numbered by their priority.
    const uint32_t* ids  # of each symbol its id; or EXPANDED | the place in expansions
    const uint32_t* expansions  # how many ids, and these
    const uint32_t* ties  # of each symbol, the first one of the same priority
    uint32_t tied_from  # the first symbol that shares its priority, or NONE
    uint32_t unknown_id  # of a character that no token has
    bint has_bytes  # such a character becomes the ids of its bytes instead
    bint marks_spaces  # a space stands for U+2581, and either may be in the text
    uint32_t byte_ids[256]


cdef extern from "simd/word_facts.h" nogil:
    ctypedef struct fb_words:
        uint64_t within[128][2]
        const uint8_t* has_behind
        const uint8_t* has_before
        const uint64_t* pairs
        uint32_t pair_shift
        uint32_t space_too
        int by_words
        uint8_t before[16]
        uint8_t behind[16]
    uint64_t fb_pair_bit(uint32_t c, uint32_t next, uint32_t shift)


cdef struct Pieces:
    # Those that text is merged to, in order of priority, and what they are made of.
    const uint8_t* data
    const uint32_t* ends
    size_t n
    uint32_t* order  # their ids
    bint marks_spaces
    bint splits  # none goes on with a U+2581


cdef class CodePoints:
    cdef Characters characters
    cdef fb_words words
    cdef readonly bint marks_spaces  # U+2581 is a space wherever text is worked on
    cdef readonly bint by_words  # no piece goes on behind a word
    cdef readonly bytes token_bytes
    cdef readonly bytes token_ends
    cdef readonly list expanded  # symbols whose ids are still to be said: their bytes by symbol
    cdef bytes _ids
    cdef bytes _ties
    cdef bytes _expansions
    cdef uint8_t* _is_piece
    cdef uint8_t* _has_behind
    cdef uint8_t* _has_before
    cdef uint64_t* _pairs
    cdef uint64_t[128][2] _ascii_pairs

    cdef int _sort(self, Pieces* pieces, const uint32_t* scores, const uint8_t* types, size_t n) except -1
    cdef int _look(self, Pieces* pieces, uint64_t* wide) except -1
    cdef int _lay_out(self, const Pieces* pieces) except -1
    cdef list _others(self)
    cdef int _set_ids(self, const Pieces* pieces, const uint32_t* scores, const uint8_t* types) except -1
    cdef void _set_words(self) noexcept
