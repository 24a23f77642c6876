from cpython.list cimport PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t

from fastbpe._core.common.id_buffer cimport Ids

cdef extern from *:
    """
    #define FASTBPE_SET_SIZE(list, n) Py_SET_SIZE(list, (Py_ssize_t)(n))
    """
    void PyObject_GC_Track(object)
    void PyObject_GC_UnTrack(object)
    void set_size "FASTBPE_SET_SIZE"(PyObject* items, size_t n) noexcept nogil


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
cdef size_t free_spare() noexcept
cdef Array ids_array(Ids* ids, size_t n_units=*)
cdef Array int64_array(size_t n)


cdef list new_list(size_t n)
cdef list ids_list(const uint32_t* ids, size_t n)
cdef int add_ids(list out, const uint32_t* ids, size_t n) except -1
cdef void expect_items(list out, size_t n_more) noexcept
cdef int append_ids(list out, const uint32_t* ids, size_t n) except -1
cdef bint move_ids(PyObject* out, Ids* ids) noexcept nogil
cdef void fit_list(list out) noexcept
cdef void show_all(list lists) noexcept


cdef inline void hide(object container) noexcept:
    """Take a new list or tuple away from the garbage collector: until it is shown, nobody else can come by it.

    A list that is filled while Python code may run (a collection, another thread, a signal handler) is hidden: its
    items are no valid objects yet, its room must not change, and a collection would look through it in vain.
    """
    PyObject_GC_UnTrack(container)


cdef inline list show(list out):
    """Tell the garbage collector of a list that was hidden. It may be part of a cycle: the caller may append anything."""
    PyObject_GC_Track(out)
    return out


cdef inline void add_item(list out, object item) noexcept:
    """Append an object to a list that has room for it."""
    cdef Py_ssize_t size = len(out)
    set_size(<PyObject*> out, size + 1)
    Py_INCREF(item)
    PyList_SET_ITEM(out, size, item)


cdef inline tuple add_span(list out, object start, object end):
    """Append (start, end), both ints, to a list that has room for it; returned for others that are equal to it.

    The tuple stays hidden, as CPython hides tuples of ints when it first meets them: it is part of no cycle.
    """
    cdef tuple span = (start, end)
    hide(span)
    add_item(out, span)
    return span
