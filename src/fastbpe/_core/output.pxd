from cpython.list cimport PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t

from fastbpe._core.merge cimport Ids

cdef extern from *:
    """
    #define FASTBPE_SHORTEN(list, n) Py_SET_SIZE((PyObject *)(list), (Py_ssize_t)(n))
    """
    void PyObject_GC_Track(object)
    void PyObject_GC_UnTrack(object)
    void shorten_list "FASTBPE_SHORTEN"(list items, size_t n) noexcept  # that holds nothing from n on


cdef class Array:
    cdef void* _items
    cdef Py_ssize_t _n
    cdef size_t _capacity  # of ids
    cdef size_t _n_units  # of the text that they are of
    cdef Py_ssize_t _item_size
    cdef const char* _format
    cdef Py_ssize_t _shape[1]
    cdef Py_ssize_t _strides[1]


cdef size_t take_spare(Ids* ids, size_t n_units) noexcept
cdef Array ids_array(Ids* ids, size_t n_units=*)
cdef Array int64_array(size_t n)


cdef list new_list(size_t n)
cdef list ids_list(const uint32_t* ids, size_t n)
cdef int fill_list(list out, size_t at, const uint32_t* ids, size_t n) except -1
cdef bint stop_collecting() noexcept
cdef void collect_again(bint was_on) noexcept


cdef inline int set_span(list out, size_t i, object start, object end) except -1:
    """Store (start, end), both ints, in a new list.

    Nor is the garbage collector told of the tuple: those that are kept took 1.6 times as long with it.
    """
    cdef tuple span = (start, end)
    PyObject_GC_UnTrack(span)
    Py_INCREF(span)
    PyList_SET_ITEM(out, <Py_ssize_t> i, span)
    return 0
