from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef list lists_with_spans(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, SpanTrimmer trimmer, int unit
)
cdef tuple arrays_with_spans(
    Pipeline pipeline, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, SpanTrimmer trimmer, int unit
)
