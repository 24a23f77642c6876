from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher

cdef enum:
    THREADS_FROM_UNITS = 1 << 18  # smallest text or batch, in units, for which waking threads pays


cdef list list_of_text(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads
)
cdef int append_text(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch
) except -1
cdef size_t count_text(Pipeline pipeline, object text, Scratch* scratch) except? <size_t> -1
cdef bint may_use_threads(object text, object num_threads) except -1
cdef int check_threads(object num_threads) except -1
cdef int n_threads_of(Pipeline pipeline, size_t n_units, object num_threads) except -1
