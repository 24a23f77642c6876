from libc.stdint cimport int32_t, uint32_t, uint8_t

from fastbpe._core.common.hash_tables cimport Pairs, PieceSlot
from fastbpe._core.merge.codepoint_symbols cimport Characters
from fastbpe._core.segment.segmenter cimport Segmenter, Segmenting


cdef struct Tables:
    # Everything that encoding reads of a vocabulary. Views of buffers that a Vocabulary owns; read-only once
    # created.
    const uint8_t* token_bytes  # bytes of all tokens, end to end
    const uint32_t* token_ends  # token i is token_bytes[token_ends[i - 1]:token_ends[i]]; empty: i is not a token
    uint32_t n_ids  # one more than the greatest id
    uint32_t n_tokens  # ids that are tokens
    uint32_t max_token_bytes  # length of the longest token
    const PieceSlot* pieces  # hash table: id of a token by its bytes
    size_t piece_mask  # number of its slots - 1
    Pairs pairs  # hash table: priority and merged id of a pair of ids
    uint32_t byte_ids[256]  # id of each single byte; no token: NONE, or n_ids for code points. Not set with `spelling`
    const int32_t* byte_keys  # ranked only: pair_key() of two bytes, at first << 8 | second; else NULL
    bint whole_piece_first  # a piece that is a token becomes that token, even if merging would yield other ids
    const Characters* characters  # for a code-point vocabulary, whose ids are symbols; NULL: byte-level
    const Spelling* spelling  # for a vocabulary whose base symbols are characters; NULL: any other
    const Segmenting* segmenting  # for a vocabulary that does not merge; NULL: it merges
    int32_t tied_key  # code points with ranks: lowest key (rank << 6) of a symbol that shares its priority; else NO_KEY


cdef class Vocabulary:
    cdef readonly bint drops_bytes  # some byte is not a token
    cdef Tables tables
    cdef Py_buffer _views[4]  # in the order of vocabulary.pyx: TOKEN_BYTES, TOKEN_ENDS, PIECES, PAIRS
    cdef int _n_views  # views to release
    cdef bint _ranked  # the pair table is a ranked one
    cdef object _code_points  # owner of the memory that tables.characters points to
    cdef readonly Segmenter segmenter  # owner of the memory that tables.segmenting points to, or None
    cdef readonly SpelledSymbols spelled  # owner of the memory that tables.spelling points to, or None
    cdef str _section(self, int view)
    cdef int _open_view(self, int view, object source, size_t item_size, size_t* n_items) except -1
    cdef int _check(self, bint drops_bytes) except -1
    cdef int _check_spelling(self) except -1
    cdef int _fill_byte_keys(self) except -1
    cdef bytes token(self, uint32_t token_id)


cdef bint ends_rise(const Tables* t, size_t n_bytes, uint32_t* n_tokens, uint32_t* longest) noexcept nogil


cdef inline uint32_t token_start(const Tables* t, uint32_t i) noexcept nogil:
    """Offset of token i in token_bytes."""
    return t.token_ends[i - 1] if i else 0


cdef inline uint32_t token_length(const Tables* t, uint32_t i) noexcept nogil:
    """Length of token i in bytes; 0: the id is not a token."""
    return t.token_ends[i] - token_start(t, i)


cdef inline bint is_token(const Tables* t, uint32_t i) noexcept nogil:
    """Tell whether a number, of any value, is the id of a token."""
    return i < t.n_ids and token_length(t, i) > 0


cdef enum:
    MAX_AFFIX_BYTES = 256  # longest prefix or suffix of base symbols


cdef extern from *:
    """
    #define FASTBPE_NO_SUCH_TOKEN (UINT32_MAX - 1)
    """
    # Value of `Spelling.unknown_id`: the model names an unknown token that is not in its vocabulary.
    const uint32_t NO_SUCH_TOKEN "FASTBPE_NO_SUCH_TOKEN"


cdef struct Spelling:
    # Rules by which the tokens of a vocabulary of characters spell the base symbols of a piece.
    const uint8_t* prefix  # of every character except the first of a piece
    size_t n_prefix
    const uint8_t* suffix  # of the last character of a piece
    size_t n_suffix
    uint32_t unknown_id  # of characters without a token; NONE: they are left out; or NO_SUCH_TOKEN
    bint fuses  # consecutive unknown characters are one token
    bint has_bytes  # byte fallback: a character becomes the tokens of its bytes, if all have one
    uint32_t byte_ids[256]  # for byte fallback: id of each byte; NONE: no token
    bint traces  # merging also returns the length of each token
    const uint32_t* tokens  # the token of each symbol that merging makes; NULL: symbols are tokens
    bint in_rounds  # the best pair merges everywhere before another is chosen; only for symbols


cdef class SpelledSymbols:
    cdef Spelling spelling
    cdef Spelling tracing  # a copy of `spelling` with `traces` set
    cdef bytes _prefix
    cdef bytes _suffix
    cdef bytes _tokens


cdef inline uint32_t token_of(const Tables* t, uint32_t symbol) noexcept nogil:
    """Token that a symbol of a merged piece becomes."""
    return symbol if t.spelling == NULL or t.spelling.tokens == NULL else t.spelling.tokens[symbol]
