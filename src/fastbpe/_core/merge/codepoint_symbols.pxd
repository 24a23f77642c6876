from libc.stdint cimport uint8_t, uint32_t, uint64_t


# See codepoint_symbols.pyx for symbols, priorities and pieces.

cdef extern from *:
    """
    #define FASTBPE_EXPANDED 0x80000000u
    """
    const uint32_t EXPANDED "FASTBPE_EXPANDED"  # flag in Characters.ids


cdef struct Characters:
    # Everything that encoding reads of a code-point vocabulary besides its Tables, whose tokens are the symbols.
    const uint32_t* ids  # by symbol: its id; or EXPANDED | index in expansions, if it stands for several ids
    const uint32_t* expansions  # from each such index on: the number of ids, then the ids
    const uint32_t* ties  # by symbol: the first symbol of the same priority
    uint32_t tied_from  # the first symbol that shares its priority with another, or NONE
    uint32_t unknown_id  # id of a character that no token has
    bint has_bytes  # byte fallback: such a character becomes the ids of its bytes
    bint marks_spaces  # a space in a symbol stands for U+2581; the text may have either
    uint32_t byte_ids[256]  # for byte fallback: id of each byte


cdef extern from "simd/word_facts.h" nogil:
    ctypedef struct fb_words:  # facts for finding safe cuts; see simd/word_facts.h
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
    # The pieces of the model that can result from merging, in order of priority.
    const uint8_t* data  # bytes of all pieces of the model, end to end
    const uint32_t* ends  # by id: end of the piece in data
    size_t n  # number of pieces in `order`
    uint32_t* order  # ids of these pieces
    bint marks_spaces  # as in Characters
    bint splits  # no piece has a U+2581 after its first character


cdef class CodePoints:
    cdef Characters characters
    cdef fb_words words
    cdef readonly bint marks_spaces  # U+2581 becomes a space before merging
    cdef bint by_words  # no piece has a space after another character, so words are merged separately
    cdef readonly size_t n_pieces  # the first n_pieces symbols are pieces, the others characters
    cdef readonly bytes token_bytes  # bytes of the symbols, in the form that a Vocabulary accepts
    cdef readonly bytes token_ends
    cdef readonly list expanded  # symbols that stand for several ids; expand() sets these
    cdef bytes _ids  # memory of characters.ids
    cdef bytes _ties  # memory of characters.ties
    cdef bytes _expansions  # memory of characters.expansions
    # Bit sets by code point:
    cdef uint8_t* _is_piece  # the character alone is a piece
    cdef uint8_t* _has_behind  # some piece has another character after it
    cdef uint8_t* _has_before  # some piece has another character before it
    # Pairs of neighbouring characters in pieces:
    cdef uint64_t* _pairs  # Bloom filter of the pairs with a character from U+0800 on, see fb_pair_bit
    cdef uint64_t[128][2] _ascii_pairs  # bit set of ASCII pairs: [first][second >> 6], bit second & 63

    cdef int _sort(self, Pieces* pieces, const uint32_t* scores, const uint8_t* types, size_t n) except -1
    cdef int _gather_pairs(self, Pieces* pieces, uint64_t* found) except -1
    cdef int _write_tokens(self, const Pieces* pieces) except -1
    cdef list _lone_characters(self)
    cdef int _set_ids(self, const Pieces* pieces, const uint32_t* scores, const uint8_t* types) except -1
    cdef void _set_words(self) noexcept
