from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.spans cimport Spans
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef int append_text_spans(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch,
    Spans* spans, SpanTrimmer trimmer, int unit
) except -1
