from libc.stdint cimport uint8_t, uint32_t


cdef enum:
    MAX_AFFIX_BYTES = 256  # longest prefix or suffix of base symbols


cdef extern from *:
    """
    #define FASTBPE_NO_SUCH_TOKEN (UINT32_MAX - 1)
    """
    # As `Spelling.unknown_id`: the model names an unknown token that its vocabulary does not have.
    const uint32_t NO_SUCH_TOKEN "FASTBPE_NO_SUCH_TOKEN"


cdef struct Spelling:
    # How the tokens of a vocabulary of characters spell the base symbols of a piece.
    const uint8_t* prefix  # of each character but the first one of a piece
    size_t n_prefix
    const uint8_t* suffix  # of the last character of a piece
    size_t n_suffix
    uint32_t unknown_id  # of characters without a token; NONE: they are left out; or NO_SUCH_TOKEN
    bint fuses  # unknown characters in a row are one token
    bint has_bytes  # byte fallback: a character becomes the tokens of its bytes, if all have one
    uint32_t byte_ids[256]  # for byte fallback; NONE: the byte has no token
    bint traces  # merging gives the length of each token, too


cdef class SpelledSymbols:
    cdef Spelling spelling
    cdef Spelling tracing  # the same, with lengths
    cdef bytes _prefix
    cdef bytes _suffix
