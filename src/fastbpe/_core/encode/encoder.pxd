from fastbpe._core.encode.dropping cimport Dropping
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.encode.untrusted_ids cimport Guard
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef class Encoder:
    # Valid once _is_built is set, and never replaced afterwards: several threads may call __init__ at the first
    # use.
    cdef Pipeline _built
    cdef object _special
    cdef SpanTrimmer _trimmer
    cdef int _is_built  # atomic
    cdef SpecialMatcher _all_special  # valid once _has_all_special is set
    cdef int _has_all_special  # atomic
    cdef Guard _guard  # made when encode_parts() first needs it
    cdef Dropping _dropping  # made when a call first asks for dropout
    cdef Pipeline _ready(self)
    cdef tuple _matchers(self, object allowed, object disallowed)
    cdef SpecialMatcher _all(self)
    cdef int _make_all(self) except -1
    cdef list _to_list(self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads)
    cdef list _encode_dropping(
        self, object text, object allowed_special, object disallowed_special, object num_threads, object dropout,
        object seed,
    )
    cdef Dropping _dropper(self)
    cdef list _to_lists(self, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads)
    cdef Guard _guarding(self)
    cdef size_t _count_up_to(self, object text, object limit) except? 0
