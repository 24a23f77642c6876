from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.common.python cimport Py_INCREF, PyList_SET_ITEM, PyObject

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
    cdef size_t _n_units  # length of the items' text, in characters or bytes; 0: do not reuse the memory
    cdef size_t _capacity  # items that fit into the memory, if it may be reused
    cdef Py_ssize_t _item_size  # bytes of an item
    cdef const char* _format  # struct format character of an item


cdef size_t take_spare(Ids* ids, size_t n_units) noexcept
cdef size_t free_spare() noexcept
cdef Array ids_array(Ids* ids, size_t n_units=*)
cdef Array int64_array(size_t n)
cdef Array int64_array_of(int64_t* items, size_t n, size_t capacity, size_t n_units)
cdef int64_t* take_spare_int64s(size_t n_units, size_t* capacity) noexcept


cdef list new_list(size_t n)
cdef list ids_list(const uint32_t* ids, size_t n, tuple before=*, tuple behind=*)
cdef int add_ids(list out, const uint32_t* ids, size_t n) except -1
cdef void expect_items(list out, size_t n_more) noexcept
cdef int append_ids(list out, const uint32_t* ids, size_t n) except -1
cdef bint move_ids(PyObject* out, Ids* ids) noexcept nogil
cdef void fit_list(list out) noexcept
cdef int show_all(list lists) except -1


cdef inline void hide(object container) noexcept:
    """Untrack a new list or tuple: the garbage collector and gc.get_objects() cannot reach it until show().

    Required for a list that is filled while Python code may run (a garbage collection, another thread, a signal
    handler): its items may not be valid objects yet, and nobody may resize it. It also saves the garbage collector
    from traversing it.
    """
    PyObject_GC_UnTrack(container)


cdef inline list show(list out):
    """Track a hidden list again, because its new owner may append anything and so create a cycle; return it."""
    PyObject_GC_Track(out)
    return out


cdef inline void add_item(list out, object item) noexcept:
    """Append an object to a list. Requires: len(out) is below its capacity."""
    cdef Py_ssize_t size = len(out)
    set_size(<PyObject*> out, size + 1)
    Py_INCREF(item)
    PyList_SET_ITEM(out, size, item)


cdef inline tuple add_span(list out, object start, object end):
    """Append the tuple (start, end) of two ints to a list, and return it.

    The tuple stays untracked, because it cannot be part of a cycle; CPython untracks such tuples at the first
    garbage collection.
    Requires: len(out) is below its capacity.
    """
    cdef tuple span = (start, end)
    hide(span)
    add_item(out, span)
    return span
