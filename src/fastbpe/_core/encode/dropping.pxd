from libc.stdint cimport uint64_t

from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef class Flag:
    cdef int value  # 1: the ids are no longer needed


cdef class Dropping:
    cdef Pipeline _pipeline
    cdef bytes _makers  # uint32 pairs by id: see Dropout.makers; b"": any pair may make an id
    cdef list encode(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object dropout, object seed,
        object num_threads,
    )
    cdef list encode_batch(
        self, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object dropout, object seed,
        object num_threads,
    )
    cdef list _one(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, double rate, uint64_t seed,
        size_t index, Flag abandoned,
    )


cdef uint64_t seed_of(object seed) except? 0
