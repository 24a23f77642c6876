from libc.stdint cimport uint32_t, uint8_t

from fastbpe._core.normalize.charsmap_rules cimport Rules
from fastbpe._core.normalize.piece_id_table cimport PieceIdTable
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef struct Normalized:
    # Output of the normalizer, and its state between calls. Initialize with zeros; free with normalized_free().
    uint8_t* data
    size_t n
    size_t capacity
    uint32_t* offsets  # offset in the text of each byte of data, then of the end; NULL if not requested
    bint with_offsets
    size_t at  # offset up to which the text has been read
    bint after_space  # the next spaces are left out
    bint is_empty  # set by run(): nothing but spaces that are left out; then offsets has no end either


cdef struct Step:
    # One step of the normalizer: n_bytes of the text are replaced by data[:n].
    const uint8_t* data
    size_t n
    size_t n_bytes


cdef int no_memory(size_t n) except -1 nogil
cdef int check_n_bytes(size_t n) except -1 nogil
cdef int normalized_reserve(Normalized* out, size_t n_more) noexcept nogil
cdef void normalized_free(Normalized* out) noexcept nogil


cdef class Normalizer:
    cdef:
        bint _dummy_prefix, _trim, _escape, _suffix, _metaspace_to_space
        Rules _rules  # or None
        SpecialMatcher _symbols
        uint8_t* _starts  # bits by code point: 1 if a rule or symbol may begin with the character; NULL: all 0
        uint8_t _symbol_starts[256]  # bool by byte: a symbol begins with it
        uint8_t _ascii[128]  # replacement if ASCII or nothing follows; LOOK: search rules and symbols
        readonly bint gives_utf8  # each replacement and each symbol is UTF-8, and so is all output
        bint _plain_words  # _ascii has each character from ! to ~ itself: no rule or symbol concerns it

    cdef void _note_symbol(self, const uint8_t* symbol, size_t n) noexcept nogil
    cdef void _set_ascii(self) noexcept nogil
    cdef void _step(self, const uint8_t* text, size_t n, size_t at, Step* step) noexcept nogil
    cdef void _write_space(self, Normalized* out, size_t at) noexcept nogil
    cdef int _put(self, Normalized* out, const Step* step) noexcept nogil
    cdef int begin(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil
    cdef int go_on(self, Normalized* out) noexcept nogil
    cdef int advance(self, const uint8_t* text, size_t n, size_t stop, Normalized* out) noexcept nogil
    cdef int finish(self, Normalized* out) noexcept nogil
    cdef int run(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil
    cdef int run_with_offsets(self, const uint8_t* text, size_t n, Normalized* out) except -1 nogil
    cdef object _normalized(self, bytes text, bint with_offsets)


cdef class Normalizing:
    cdef readonly Normalizer normalizer  # None: texts are split without normalization
    cdef readonly bint dummy_prefix  # if there is no normalizer: put a space before each text
    cdef readonly bint prefix_always  # put a space before each text between tokens, unless it begins with one
    cdef readonly bint prefix_first  # the same, only at the beginning of a text
    cdef readonly SpecialMatcher symbols  # user-defined symbols; None: no such symbols
    cdef readonly bint cuttable  # a letter or number before a space ends a word: a safe cut is between them
    cdef readonly Normalizer to_spaces  # without a normalizer: turns U+2581 into spaces if spans are requested
    cdef readonly bint as_tokenizers  # return the spans of tokenizers; False: sentencepiece's
    cdef readonly bint removes_spaces  # the normalizer makes one space of several
    cdef bint only_prefixes  # the dummy prefix is the only change to texts, and ids do not change
    cdef public size_t dropped  # ids to drop at the beginning of each text between tokens, if it has as many
    cdef PieceIdTable table  # a table of the ids of pieces; None: they have the ids of the model
    cdef uint32_t fused  # several of this id in a row become one; NONE: no id
