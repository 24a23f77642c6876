from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids


cdef class Sequences:
    cdef Ids items  # integers of all sequences, end to end
    cdef size_t* ends  # sequence i is items[ends[i - 1]:ends[i]]
    cdef int64_t* counts  # number of times that each sequence counts
    cdef readonly size_t n
    cdef size_t _capacity
    cdef uint32_t _limit
    cdef bint _of_ids, _is_one
    cdef size_t _first
    cdef int _reserve(self) except -1
    cdef int add_ids(self, const uint32_t* ids, size_t n, int64_t count) except -1
    cdef str _place(self, size_t position)
    cdef object _bad(self, object item, size_t position)
    cdef int _read(self, object sequence) except -1
    cdef int _read_buffer(self, object sequence) except -1
    cdef int _read_items(self, object items) except -1
    cdef int64_t _value(self, object item, size_t position) except -1


cdef inline size_t sequence_start(Sequences sequences, size_t i) noexcept nogil:
    """Offset of sequence i in items."""
    return sequences.ends[i - 1] if i else 0
