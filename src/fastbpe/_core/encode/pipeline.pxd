from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.normalize.codepoint_steps cimport Normalizing
from fastbpe._core.normalize.unicode_forms cimport Front
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.split.splitter cimport Ends, Splitter
from fastbpe._core.text.utf8_text cimport Text
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.common.interrupts cimport Watch


cdef struct Scratch:
    # What one thread works with: all that grows, kept warm between calls.
    Ids ids
    PyObject* out  # the list that ids are moved to, as long as that can be done without the GIL; NULL: none
    Ids other_ids  # to go on with where ids must wait; its n says nothing
    Ends ends
    Cache cache
    Normalized normalized
    bint after_fused  # the last id is one of which there are never two in a row
    bint at_start  # what is looked at begins where the text does
    bint keeps_runs  # such ids are not made one until the scratch is given back
    Buffer utf8
    Buffer changed  # text that something has become of before it is split
    Buffer prefixed
    Buffer kept  # of pieces, what is left without bytes that are no tokens
    Watch watch
    size_t n_held  # units encoded under the GIL since it was last given up
    Scratch* next


cdef class Pipeline:
    cdef readonly Vocabulary vocabulary
    cdef readonly Splitter splitter
    cdef readonly Normalizing normalizing
    cdef readonly size_t cache_bytes
    cdef bint is_plain  # nothing but special tokens happens to text before it is split
    cdef bint may_defer  # ids are not looked at until all are there
    cdef bint only_prefixes  # nothing but these and a dummy prefix
    cdef readonly Front front
    cdef readonly SpecialMatcher always
    cdef uint64_t _seed
    cdef Scratch* _spare
    cdef Ids _spare_arena
    cdef size_t _n_scratch
    cdef size_t _limit  # of each cache
    cdef bint _is_listed
    cdef PyObject* _listed_before  # the neighbours among all pipelines that live; NULL: none
    cdef PyObject* _listed_after
    cdef size_t _free_kept(self) noexcept
    cdef Scratch* take(self) except NULL
    cdef void give(self, Scratch* scratch) noexcept
    cdef int hold_gil(self, Scratch* scratch, size_t n_units) except -1
    cdef Ids take_arena(self, size_t capacity, bint* is_fresh) noexcept
    cdef void give_arena(self, Ids arena) noexcept
    cdef bint may_cut(self, SpecialMatcher allowed, SpecialMatcher disallowed) noexcept nogil
    cdef bint _may_cut_finding(self, SpecialMatcher tokens) noexcept nogil
    cdef size_t cut(self, const Text* text, size_t start, size_t at) noexcept nogil
    cdef int encode(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch, size_t* count,
    ) except -1 nogil
    cdef int _stretch(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch, size_t* count,
    ) except -1 nogil
    cdef int _find_tokens(
        self, const uint8_t* data, size_t n, SpecialMatcher tokens, bint is_first, bint is_last, Scratch* scratch,
        size_t* count,
    ) except -1 nogil
    cdef int _change(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch,
        size_t* count,
    ) except -1 nogil
    cdef int _prefix(self, const uint8_t* data, size_t n, Scratch* scratch, size_t* count) except -1 nogil
    cdef int _normalize(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch,
        size_t* count,
    ) except -1 nogil
    cdef int _with_dummy_prefix(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, Scratch* scratch, size_t* count
    ) except -1 nogil
    cdef int _find_normalized(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, Scratch* scratch, size_t* count
    ) except -1 nogil
    cdef int _section(
        self, const uint8_t* data, size_t n, bint is_first, Scratch* scratch, size_t* count
    ) except -1 nogil
    cdef int encode_normalized(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil
    cdef int _find_symbols(self, const uint8_t* data, size_t n, Scratch* scratch, size_t* count) except -1 nogil
    cdef bint _drop(self, const uint8_t* data, size_t start, size_t end, Scratch* scratch) except -1 nogil
    cdef int _ordinary(self, const uint8_t* data, size_t n, Scratch* scratch, size_t* count) except -1 nogil


cdef size_t free_scratches() noexcept
