from libc.stdint cimport uint8_t

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.places cimport Places
from fastbpe._core.normalize.text_steps cimport TextStep
from fastbpe._core.split.splitter cimport Ends, Splitter


cdef struct Staged:
    # Pieces as the stages leave them. Initialize with zeros; free with staged_free().
    Buffer text  # the pieces, end to end
    Places places  # for each byte of `text`, its place in the text before all stages; empty unless `traces` is set
    Buffer spare
    Places spare_places
    bint traces
    size_t n_first  # leading bytes of the text that come from the first character of the whole text


cdef void staged_free(Staged* staged) noexcept nogil


cdef class Stage:
    cdef readonly Splitter splitter
    cdef readonly Stage then
    cdef readonly bint needs_first  # this stage, or one after it, must know which piece begins a whole text
    cdef readonly bint holds_gil
    cdef bytes _prefix_owner
    cdef bytes _space_owner
    cdef const uint8_t* _prefix
    cdef size_t _n_prefix
    cdef const uint8_t* _space
    cdef size_t _n_space
    cdef bint _only_first
    cdef bint _to_bytes
    cdef int run(
        self, const uint8_t* data, const Places* sources, size_t start, Ends* ends, Staged* staged
    ) except -1 nogil
    cdef int _change(
        self, const uint8_t* data, const Places* sources, size_t start, size_t end, Staged* staged, size_t* n_first
    ) except -1 nogil
    cdef int _add(
        self, const uint8_t* data, const Places* sources, size_t start, size_t end, Staged* staged
    ) except -1 nogil
    cdef int _split(self, size_t begin, Ends* ends, Staged* staged) except -1 nogil
    cdef bint _begins_with_prefix(self, const uint8_t* data, size_t n) noexcept nogil


cdef class Replaced(TextStep):
    cdef readonly Splitter splitter
    cdef bytes _owner
    cdef const uint8_t* _content
    cdef size_t _n_content
    cdef inline bint _is_same(self, const uint8_t* match, size_t n) noexcept nogil
