from libc.stdint cimport uint32_t

from fastbpe._core.merge cimport Ids


cdef class Array:
    cdef void* _items
    cdef Py_ssize_t _n
    cdef Py_ssize_t _item_size
    cdef const char* _format
    cdef Py_ssize_t _shape[1]
    cdef Py_ssize_t _strides[1]


cdef Array ids_array(Ids* ids)
cdef Array int64_array(size_t n)


cdef list new_list(size_t n)
cdef list ids_list(const uint32_t* ids, size_t n)
cdef int fill_list(list out, size_t at, const uint32_t* ids, size_t n) except -1
cdef bint stop_collecting() noexcept
cdef void collect_again(bint was_on) noexcept
