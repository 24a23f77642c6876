from libc.stdint cimport uint8_t

from fastbpe._core.normalize.text_steps cimport TextStep
from fastbpe._core.split.splitter cimport Splitter


cdef class Replaced(TextStep):
    cdef readonly Splitter splitter
    cdef bytes _owner
    cdef const uint8_t* _content
    cdef size_t _n_content
    cdef inline bint _is_same(self, const uint8_t* match, size_t n) noexcept nogil
