cdef class Windows:
    cdef object _iterator, _error
    cdef bint _is_over
    cdef list texts  # those that were given last
    cdef Py_ssize_t first  # the number of the first of them
    cdef size_t n_units  # how long they are together
    cdef list next(self)
