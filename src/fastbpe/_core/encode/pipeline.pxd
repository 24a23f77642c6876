from libc.stdint cimport uint8_t

from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.encode.piece_steps cimport PieceSteps
from fastbpe._core.encode.scratch_pool cimport Scratch, ScratchPool
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizing
from fastbpe._core.normalize.text_steps cimport Front
from fastbpe._core.normalize.unicode_forms cimport Form
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.split.stages cimport Stage
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text


cdef class Pipeline:
    # __cinit__ sets these; they do not change afterwards.
    cdef PieceSteps pieces
    cdef readonly Vocabulary vocabulary
    cdef readonly Splitter splitter
    cdef readonly Front front
    cdef Form form  # the only step of the front; None: it has other steps, or there is no front
    cdef readonly SpecialMatcher always
    cdef readonly Normalizing normalizing  # of code-point mode; None: byte mode
    cdef readonly Stage stages  # stages that change the pieces of the splitter; None: no stages
    cdef readonly TwoPhases phases  # of a vocabulary with superwords; None: it has no superwords
    cdef bint is_plain  # no added tokens, normalization or stages, and a vocabulary of bytes, each with a token
    cdef bint only_prefixes  # is_plain except for the dummy prefix of code-point mode, and one phase of merging
    cdef bint may_defer  # no step reads the ids of earlier pieces, so merging them may be deferred
    cdef ScratchPool pool  # buffers and caches of the threads

    cdef Pipeline finding(self, SpecialMatcher tokens)
    cdef bint may_cut(self, SpecialMatcher allowed, SpecialMatcher disallowed) noexcept nogil
    cdef bint _may_cut_finding(self, SpecialMatcher tokens) noexcept nogil
    cdef size_t cut(self, const Text* text, size_t start, size_t near) noexcept nogil
    cdef bint keeps_cut(self, const Text* text, size_t position) noexcept nogil

    cdef int encode(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except -1 nogil
    cdef size_t count(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except? <size_t> -1 nogil
    cdef int _encode_stretch(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except -1 nogil
    cdef int encode_utf8(
        self, const uint8_t* data, size_t n, SpecialMatcher allowed, SpecialMatcher disallowed, bint is_first,
        bint is_last, Scratch* scratch
    ) except -1 nogil
    cdef int _find_added_tokens(
        self, const uint8_t* data, size_t n, SpecialMatcher tokens, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil
    cdef int _normalize(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil
    cdef int _normalize_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil
    cdef int _normalize_with_table(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_last, Scratch* scratch
    ) except -1 nogil
    cdef int _trace_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, Scratch* scratch
    ) except -1 nogil
    cdef int _find_normalized_tokens(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, Scratch* scratch
    ) except -1 nogil
    cdef int _put_prefix(self, const uint8_t* data, size_t n, bint is_first, Scratch* scratch) except -1 nogil
    cdef bint wants_prefix(
        self, const uint8_t* data, size_t n, bint is_first, const Scratch* scratch
    ) noexcept nogil
    cdef int _change_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, Scratch* scratch
    ) except -1 nogil
    cdef int note_first(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
