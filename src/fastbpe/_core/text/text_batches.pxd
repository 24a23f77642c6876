cdef class TextBatches:
    cdef object _iterator, _error
    cdef bint _is_over
    cdef list texts  # the last batch
    cdef Py_ssize_t first  # index of its first text among all texts
    cdef size_t n_units  # length of its texts together
    cdef list next(self)
