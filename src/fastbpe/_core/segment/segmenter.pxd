from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.segment.trie cimport Trie, Unit


cdef enum Kind:
    UNIGRAM  # best total of scores, in double, of each piece by itself: as tokenizers
    SENTENCE  # best total of scores, in float, over a whole sentence: as sentencepiece
    WORD_PIECE  # the longest token at each place, with a prefix inside a piece
    WORD_LEVEL  # a piece is a token


cdef struct Segmenting:
    # All that cutting reads of a vocabulary whose tokens are not merged.
    Kind kind
    const Unit* units  # trie of the tokens
    const double* scores  # UNIGRAM: by id
    const float* gains  # SENTENCE: by id, what it adds to the total
    const uint8_t* are_symbols  # SENTENCE: by id, the piece is user-defined; NULL: none is
    double unknown  # UNIGRAM, SENTENCE: score of a character without a token
    float greatest  # SENTENCE: greatest absolute score, rounded up
    uint32_t inner  # WORD_PIECE: node behind the prefix of tokens inside a piece; NONE: there is none
    size_t longest  # WORD_PIECE: most characters of a piece that is not unknown


cdef class Segmenter:
    cdef Segmenting segmenting
    cdef readonly Trie trie
    cdef readonly str kind
    # Owners of the memory that `segmenting` points to. No typed views: each module that cimports this file, or one
    # that does, would hold Cython's code for them, about 0.1 MB.
    cdef tuple _buffers
