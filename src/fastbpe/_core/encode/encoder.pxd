from libc.stdint cimport int64_t

from fastbpe._core.encode.untrusted_ids cimport Guard
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.ids.id_lists cimport Array
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.text_batches cimport TextBatches


cdef class Encoder:
    cdef readonly Pipeline _pipeline
    cdef object _special
    cdef object _trimmer
    cdef SpecialMatcher _all_special
    cdef bint _has_all_special
    cdef Guard _guard  # made when encode_parts first asks
    cdef Pipeline _ready(self)
    cdef tuple _matchers(self, object allowed, object disallowed)
    cdef SpecialMatcher _all(self)
    cdef list _to_list(self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads)
    cdef bint _is_long(self, object text, object num_threads) except -1
    cdef int _append(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch, size_t* count
    ) except -1
    cdef Guard _guarding(self)
    cdef list _to_lists(self, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads)
    cdef int _tell_which(
        self, TextBatches windows, SpecialMatcher allowed, SpecialMatcher disallowed, object error
    ) except -1
    cdef int _add_lists(self, list window, SpecialMatcher allowed, SpecialMatcher disallowed, list out) except -1
    cdef int _append_window(
        self, list window, size_t n_units, SpecialMatcher allowed, SpecialMatcher disallowed, Ids* ids, bint has_room,
        Array counts, object num_threads,
    ) except -1
    cdef size_t _count_up_to(self, object text, object limit) except? 0
    cdef Array _counts(self, object texts, object num_threads)
    cdef int _count_window(self, list window, size_t n_units, int64_t* n_ids, object num_threads) except -1
    cdef int _threads_for(self, size_t n_units, object num_threads) except -1
    cdef int _n_threads(self, object num_threads) except -1
