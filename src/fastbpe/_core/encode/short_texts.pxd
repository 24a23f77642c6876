from fastbpe._core.common.python cimport PyObject, PyUnicode_GET_LENGTH
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(PyObject* text) noexcept

cdef enum:
    SHORT_UNITS = 1 << 8  # longest text that short_list() accepts, in characters


cdef inline bint is_short(Pipeline pipeline, object text) noexcept:
    """Tell whether short_list() accepts a text: a short ASCII str, to be only prefixed, split and merged."""
    return (
        pipeline.only_prefixes and type(text) is str and PyUnicode_IS_COMPACT_ASCII(<PyObject*> text)
        and PyUnicode_GET_LENGTH(text) <= SHORT_UNITS
    )


cdef list short_list(Pipeline pipeline, object text, SpecialMatcher disallowed)
cdef list short_list_by(Scratch* scratch, Pipeline pipeline, object text, SpecialMatcher disallowed)
