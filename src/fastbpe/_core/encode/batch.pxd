from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.ids.id_lists cimport Array
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef list lists_of_texts(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads,
    tuple before=*, tuple behind=*
)
cdef tuple array_of_texts(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads
)
cdef Array counts_of_texts(Pipeline pipeline, object texts, object num_threads)
